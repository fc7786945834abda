/* Loads libfabric as MPIs do, so that its symbols are hidden from all other libraries. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <rdma/fabric.h>

int main(void)
{
	struct fi_info *info;
	void *library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!library || dlsym(RTLD_DEFAULT, "fi_getinfo"))
		return 1;
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		       struct fi_info **) = dlsym(library, "fi_getinfo");
	void (*freeinfo)(struct fi_info *) = dlsym(library, "fi_freeinfo");
	int result = getinfo(FI_VERSION(1, 5), NULL, NULL, 0, NULL, &info);
	if (result) {
		fprintf(stderr, "fi_getinfo: %d\n", result);
		return 2;
	}
	if (info->next || strcmp(info->fabric_attr->prov_name, "tasuki"))
		return 3;
	freeinfo(info);
	return 0;
}
