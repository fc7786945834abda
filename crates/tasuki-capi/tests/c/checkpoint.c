/*
 * checkpoint saves|goes-on: calls of tasuki_checkpoint.h by a process that is alone. The first saves three
 * times and ends without finishing; the second goes on from there and finishes.
 */
#include "common.h"

#include <tasuki_checkpoint.h>

static int released;

static int gather(void *context, const void *mine, void *all, size_t bytes) {
    if (*(int *)context)
        return *(int *)context;
    memcpy(all, mine, bytes);
    return 0;
}

static int exchange(void *context, const void *out, size_t out_bytes, int to, void *in, size_t in_bytes,
                    int from) {
    (void)context, (void)out, (void)out_bytes, (void)in, (void)in_bytes;
    return to >= 0 || from >= 0;
}

static void release(void *context) {
    (void)context;
    released++;
}

/* What cannot be is refused, with words. */
static void misuse(tasuki_checkpoint_group group) {
    tasuki_checkpoint *checkpoint = NULL;
    tasuki_checkpoint_options options;
    EXPECT(tasuki_checkpoint_options_init(&options, 1) == TASUKI_EINVAL);
    EXPECT(tasuki_checkpoint_options_init(NULL, sizeof options) == TASUKI_EINVAL);
    EXPECT(tasuki_checkpoint_options_init(&options, sizeof options) == TASUKI_OK);
    EXPECT(options.copies == 1 && options.keep == 2 && options.failures_seconds == 86400);
    options.keep = 0;
    EXPECT(tasuki_checkpoint_open(&group, &options, &checkpoint) == TASUKI_EINVAL && !checkpoint);
    EXPECT(strstr(tasuki_last_error(), "keep"));
    options.keep = 1;
    options.folder = "/proc/no/such";
    EXPECT(tasuki_checkpoint_open(&group, &options, &checkpoint) == TASUKI_ECHECKPOINT && !checkpoint);
    EXPECT(strstr(tasuki_last_error(), "cannot make the folder /proc/no/such"));
    EXPECT(released == 2);
    EXPECT(tasuki_checkpoint_open(NULL, NULL, &checkpoint) == TASUKI_EINVAL);
    EXPECT(tasuki_checkpoint_open(&group, NULL, NULL) == TASUKI_EINVAL);
    group.gather = NULL;
    EXPECT(tasuki_checkpoint_open(&group, NULL, &checkpoint) == TASUKI_EINVAL);
    EXPECT(tasuki_checkpoint_save(NULL) == TASUKI_EINVAL && tasuki_checkpoint_restore(NULL) == TASUKI_EINVAL);
    tasuki_checkpoint_close(NULL);
}

int main(int argc, char **argv) {
    int goes_on = argc > 1 && !strcmp(argv[1], "goes-on"), fails = 0, step = 0;
    static char field[3 << 20];
    tasuki_checkpoint_group group = {0, 1, &fails, gather, exchange, release};
    if (!goes_on)
        misuse(group);
    released = 0;
    tasuki_checkpoint *checkpoint = NULL;
    int code = tasuki_checkpoint_open(&group, NULL, &checkpoint);
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", tasuki_strerror(code), tasuki_last_error());
        return 1;
    }
    EXPECT(tasuki_checkpoint_add(checkpoint, 7, field, sizeof field) == TASUKI_OK);
    EXPECT(tasuki_checkpoint_add(checkpoint, 8, field + 100, 1) == TASUKI_EINVAL);
    EXPECT(strstr(tasuki_last_error(), "memory 8 overlaps memory 7"));
    EXPECT(tasuki_checkpoint_add(checkpoint, 9, NULL, 1) == TASUKI_EINVAL);
    EXPECT(tasuki_checkpoint_add(checkpoint, 9, &step, sizeof step) == TASUKI_OK);
    EXPECT(tasuki_checkpoint_add(checkpoint, 0, NULL, 0) == TASUKI_OK);
    EXPECT(tasuki_checkpoint_remove(checkpoint, 8) == TASUKI_ENOTFOUND);
    EXPECT(tasuki_checkpoint_save(checkpoint) == TASUKI_EINVAL);
    EXPECT(tasuki_checkpoint_restore(checkpoint) == goes_on);
    tasuki_checkpoint_counters counters;
    EXPECT(tasuki_checkpoint_count(checkpoint, &counters) == TASUKI_OK);
    EXPECT(counters.epoch == (goes_on ? 3 : 0) && !counters.saved && !counters.aim_us);
    char notes[8];
    EXPECT(tasuki_checkpoint_notes(checkpoint, notes, sizeof notes) == 0 && !*notes);
    if (goes_on) {
        EXPECT(step == 3 && field[0] == 3 && field[sizeof field - 1] == 3);
        EXPECT(tasuki_checkpoint_finish(checkpoint) == TASUKI_OK);
    } else {
        for (step = 1; step <= 3; step++) {
            memset(field, step, sizeof field);
            EXPECT(tasuki_checkpoint_is_due(checkpoint) >= 0);
            EXPECT(tasuki_checkpoint_save(checkpoint) == TASUKI_OK);
        }
        EXPECT(tasuki_checkpoint_count(checkpoint, &counters) == TASUKI_OK);
        EXPECT(counters.epoch == 3 && counters.saved == 3);
        EXPECT(counters.bytes > sizeof field && !counters.copied);
        fails = 5;
        EXPECT(tasuki_checkpoint_save(checkpoint) == TASUKI_EFAILED);
        EXPECT(strstr(tasuki_last_error(), "returned 5"));
    }
    tasuki_checkpoint_close(checkpoint);
    EXPECT(released == 1);
    puts("good");
    return 0;
}
