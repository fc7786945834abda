/* FT: transforms of many lines at once. */
#ifndef TASUKI_NAS_FT_H
#define TASUKI_NAS_FT_H

#include "common/nas.h"

enum { LANES = 8, LONGEST = 512 };

struct complex_number {
    double re, im;
};

/* LANES lines side by side: element i of line l is at [i * LANES + l]. */
struct lines {
    double re[LONGEST * LANES], im[LONGEST * LANES];
};

/* Roots of unity for lines of `length`, a power of two from 4 to LONGEST. */
struct transform {
    int length;
    double cosine[LONGEST], sine[LONGEST]; /* of -2 pi i / length */
};

void transform_prepare(struct transform *transform, int length);
/* Forward transforms of all lines, not scaled; `spare` is overwritten. Returns where the result is: one of
 * the two. Exchanging re and im before and after makes the inverse. */
struct lines *transform_lines(const struct transform *transform, struct lines *lines, struct lines *spare);

#endif
