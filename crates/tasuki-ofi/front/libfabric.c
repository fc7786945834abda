/*
 * A libfabric.so.1 that is found before the system's (docs/adr/0008-a-libfabric-in-front.md).
 *
 * Loading Debian's libfabric takes 0.3 s, for hardware that is not there. If Tasuki is the only provider that
 * is asked for, its own library answers instead (src/front.rs), and the system's is not loaded. In all other
 * cases, and for functions that only the system's libfabric has, calls are passed on to it; it is loaded when
 * the first one comes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME "libfabric.so.1"
#define PROVIDER "libtasuki-fi.so"
/* fi_errno(3) */
#define FI_ENOSYS 38
/* The version of the interface that libfabric.map lists. */
#define VERSION (1u << 16 | 17u)

/* Structures of rdma/fabric.h, whose fields are not used here. */
struct fi_info;
struct fi_fabric_attr;
struct fid;
struct fid_fabric;
struct fi_provider;
struct fi_param;

/* The functions of Tasuki's library that take libfabric's place: `Calls` in src/front.rs. */
struct calls {
	int (*getinfo)(uint32_t, const char *, const char *, uint64_t, const struct fi_info *,
		       struct fi_info **);
	void (*freeinfo)(struct fi_info *);
	struct fi_info *(*dupinfo)(const struct fi_info *);
	int (*fabric)(struct fi_fabric_attr *, struct fid_fabric **, void *);
};

/* Marks this library: one that has the symbol is not the system's libfabric. */
const char tasuki_front = 1;

static const struct calls *ours;
static void *system_library;
static pthread_once_t chosen = PTHREAD_ONCE_INIT, looked = PTHREAD_ONCE_INIT;

/* A variable of the environment; NULL in programs with more rights than their caller, which must not follow
 * it. */
static const char *variable(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : NULL;
}

/* Whether Tasuki's library is to answer: not where libfabric is to log or to hook something in, which the
 * system's does. */
static bool is_wanted(void)
{
	const char *provider = variable("FI_PROVIDER"), *off = variable("TASUKI_LIBFABRIC");

	return provider && !strcmp(provider, "tasuki") && !variable("FI_LOG_LEVEL") && !variable("FI_HOOK") &&
	       !(off && !strcmp(off, "0"));
}

/* Takes the provider in the first folder of FI_PROVIDER_PATH that has one, as libfabric does. */
static void choose(void)
{
	const char *folders = variable("FI_PROVIDER_PATH");
	char path[PATH_MAX];

	if (!is_wanted())
		return;
	while (folders) {
		const char *end = strchrnul(folders, ':');
		int len = snprintf(path, sizeof path, "%.*s/" PROVIDER, (int)(end - folders), folders);
		bool fits = *folders == '/' && len < (int)sizeof path;
		void *library = fits ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
		const struct calls *(*calls)(uint32_t) =
			library ? dlsym(library, "tasuki_front_calls") : NULL;

		if (library) {
			/* A provider of another version lacks the function: then the system's libfabric
			 * answers. */
			ours = calls ? calls(VERSION) : NULL;
			return;
		}
		folders = *end ? end + 1 : NULL;
	}
}

static const struct calls *front(void)
{
	pthread_once(&chosen, choose);
	return ours;
}

/* The library `folder`/libfabric.so.1, unless it is a copy of this one. */
static void *open_in(const char *folder)
{
	char path[PATH_MAX];
	void *library;

	if (*folder != '/' || snprintf(path, sizeof path, "%s/" NAME, folder) >= (int)sizeof path)
		return NULL;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library && dlsym(library, "tasuki_front")) {
		dlclose(library);
		return NULL;
	}
	return library;
}

/* Finds the system's libfabric: the first other library of this name in the folders that the dynamic loader
 * searches. */
static void look(void)
{
	Dl_info here;
	Dl_serinfo size, *folders;
	void *self = dladdr(&tasuki_front, &here) ? dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;

	if (!self || dlinfo(self, RTLD_DI_SERINFOSIZE, &size))
		return;
	folders = calloc(1, size.dls_size);
	if (folders && !dlinfo(self, RTLD_DI_SERINFOSIZE, folders) && !dlinfo(self, RTLD_DI_SERINFO, folders))
		for (unsigned i = 0; i < folders->dls_cnt && !system_library; i++)
			system_library = open_in(folders->dls_serpath[i].dls_name);
	free(folders);
}

/* A function of the system's libfabric; NULL if it has no such function, or there is no such library. */
static void *systems(const char *name, const char *version)
{
	pthread_once(&looked, look);
	return system_library ? dlvsym(system_library, name, version) : NULL;
}

/* Defines a function that calls the system's of this name and version, and returns `without` if there is
 * none. */
#define PASS(type, function, name, version, parameters, arguments, without)  \
	type function parameters                                             \
	{                                                                    \
		type (*call) parameters = systems(name, version);            \
		return call ? call arguments : without;                      \
	}
/* Exports a function under a name and a version; "@@" marks the version for callers that ask for none. */
#define EXPORT(function, name) __asm__(".symver " #function "," name)
#define PASSED(type, function, name, at, version, parameters, arguments, without) \
	PASS(type, function, name, version, parameters, arguments, without)       \
	EXPORT(function, name at version)
#define NOTHING (void)0

#define GETINFO \
	(uint32_t version, const char *node, const char *service, uint64_t flags, \
	 const struct fi_info *hints, struct fi_info **info)
#define GETINFO_ARGUMENTS (version, node, service, flags, hints, info)
#define DUPINFO (const struct fi_info *info)
#define FREEINFO (struct fi_info *info)
#define FABRIC (struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
#define FABRIC_ARGUMENTS (attr, fabric, context)
#define OPEN \
	(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags, struct fid **fid, \
	 void *context)
#define OPEN_ARGUMENTS (version, name, attr, attr_len, flags, fid, context)

/* Structures of earlier versions have other fields: the system's libfabric handles them. */
PASSED(int, getinfo_0, "fi_getinfo", "@", "FABRIC_1.0", GETINFO, GETINFO_ARGUMENTS, -FI_ENOSYS);
PASSED(int, getinfo_1, "fi_getinfo", "@", "FABRIC_1.1", GETINFO, GETINFO_ARGUMENTS, -FI_ENOSYS);
PASSED(int, getinfo_2, "fi_getinfo", "@", "FABRIC_1.2", GETINFO, GETINFO_ARGUMENTS, -FI_ENOSYS);
PASSED(void, freeinfo_0, "fi_freeinfo", "@", "FABRIC_1.0", FREEINFO, (info), NOTHING);
PASSED(void, freeinfo_1, "fi_freeinfo", "@", "FABRIC_1.1", FREEINFO, (info), NOTHING);
PASSED(void, freeinfo_2, "fi_freeinfo", "@", "FABRIC_1.2", FREEINFO, (info), NOTHING);
PASSED(struct fi_info *, dupinfo_0, "fi_dupinfo", "@", "FABRIC_1.0", DUPINFO, (info), NULL);
PASSED(struct fi_info *, dupinfo_1, "fi_dupinfo", "@", "FABRIC_1.1", DUPINFO, (info), NULL);
PASSED(struct fi_info *, dupinfo_2, "fi_dupinfo", "@", "FABRIC_1.2", DUPINFO, (info), NULL);
PASSED(int, fabric_0, "fi_fabric", "@", "FABRIC_1.0", FABRIC, FABRIC_ARGUMENTS, -FI_ENOSYS);

/* Functions that Tasuki's library has itself. */
static PASS(int, system_getinfo, "fi_getinfo", "FABRIC_1.3", GETINFO, GETINFO_ARGUMENTS, -FI_ENOSYS)
static PASS(void, system_freeinfo, "fi_freeinfo", "FABRIC_1.3", FREEINFO, (info), NOTHING)
static PASS(struct fi_info *, system_dupinfo, "fi_dupinfo", "FABRIC_1.3", DUPINFO, (info), NULL)
static PASS(int, system_fabric, "fi_fabric", "FABRIC_1.1", FABRIC, FABRIC_ARGUMENTS, -FI_ENOSYS)
static PASS(int, system_open, "fi_open", "FABRIC_1.5", OPEN, OPEN_ARGUMENTS, -FI_ENOSYS)
static PASS(const char *, system_strerror, "fi_strerror", "FABRIC_1.0", (int number), (number),
	    "unknown error")
static PASS(uint32_t, system_version, "fi_version", "FABRIC_1.0", (void), (), VERSION)

int getinfo_3 GETINFO
{
	return (front() ? front()->getinfo : system_getinfo) GETINFO_ARGUMENTS;
}
EXPORT(getinfo_3, "fi_getinfo@@FABRIC_1.3");

void freeinfo_3 FREEINFO
{
	(front() ? front()->freeinfo : system_freeinfo)(info);
}
EXPORT(freeinfo_3, "fi_freeinfo@@FABRIC_1.3");

struct fi_info *dupinfo_3 DUPINFO
{
	return (front() ? front()->dupinfo : system_dupinfo)(info);
}
EXPORT(dupinfo_3, "fi_dupinfo@@FABRIC_1.3");

int fabric_1 FABRIC
{
	return (front() ? front()->fabric : system_fabric) FABRIC_ARGUMENTS;
}
EXPORT(fabric_1, "fi_fabric@@FABRIC_1.1");

/* fi_open opens parts of libfabric itself (a registration cache, logs), none of which Tasuki uses. */
int open_5 OPEN
{
	return front() ? -FI_ENOSYS : system_open OPEN_ARGUMENTS;
}
EXPORT(open_5, "fi_open@@FABRIC_1.5");

uint32_t version_0(void)
{
	return front() ? VERSION : system_version();
}
EXPORT(version_0, "fi_version@@FABRIC_1.0");

/* Open MPI asks for the text of an error whether or not it prints it. Below 256 the numbers are the C
 * library's, and so are the texts: fi_errno(3). */
const char *strerror_0(int number)
{
	return front() && number >= 0 && number < 256 ? strerror(number) : system_strerror(number);
}
EXPORT(strerror_0, "fi_strerror@@FABRIC_1.0");

/* For texts and settings, which are rarely asked for, the system's libfabric is loaded. */
PASSED(char *, tostr_0, "fi_tostr", "@@", "FABRIC_1.0", (const void *data, int type), (data, type), NULL);
PASSED(char *, tostr_4, "fi_tostr_r", "@@", "FABRIC_1.4",
       (char *buffer, size_t len, const void *data, int type), (buffer, len, data, type), NULL);
PASSED(int, getparams_0, "fi_getparams", "@@", "FABRIC_1.0", (struct fi_param **params, int *count),
       (params, count), -FI_ENOSYS);
PASSED(void, freeparams_0, "fi_freeparams", "@@", "FABRIC_1.0", (struct fi_param *params), (params), NOTHING);
PASSED(int, param_get_0, "fi_param_get", "@@", "FABRIC_1.0",
       (struct fi_provider *provider, const char *name, void *value), (provider, name, value), -FI_ENOSYS);
PASSED(int, log_enabled_0, "fi_log_enabled", "@@", "FABRIC_1.0",
       (const struct fi_provider *provider, int level, int system), (provider, level, system), 0);
PASSED(int, log_ready_6, "fi_log_ready", "@@", "FABRIC_1.6",
       (const struct fi_provider *provider, int level, int system, uint64_t *until),
       (provider, level, system, until), 0);

/* The next two functions take any number of arguments, which C can pass on only as a text. */
int param_define_0(const struct fi_provider *provider, const char *name, int type, const char *format, ...)
{
	int (*call)(const struct fi_provider *, const char *, int, const char *, ...) =
		systems("fi_param_define", "FABRIC_1.0");
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return call ? call(provider, name, type, "%s", text) : -FI_ENOSYS;
}
EXPORT(param_define_0, "fi_param_define@@FABRIC_1.0");

void log_0(const struct fi_provider *provider, int level, int system, const char *function, int line,
	   const char *format, ...)
{
	void (*call)(const struct fi_provider *, int, int, const char *, int, const char *, ...) =
		systems("fi_log", "FABRIC_1.0");
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (call)
		call(provider, level, system, function, line, "%s", text);
}
EXPORT(log_0, "fi_log@@FABRIC_1.0");
