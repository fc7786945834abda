/* Self-sorting (Stockham) transforms by factors of four, and a last one of two if need be. Lanes of different
 * lines lie side by side, so that every operation is one on whole vector registers. */
#include "ft.h"

#include <math.h>

void transform_prepare(struct transform *transform, int length)
{
    transform->length = length;
    for (int i = 0; i < length; i++) {
        transform->cosine[i] = cos(2 * 3.14159265358979323846 * i / length);
        transform->sine[i] = -sin(2 * 3.14159265358979323846 * i / length);
    }
}

/* Four inputs `in_step` apart make four outputs `out_step` apart; `count` neighbours alike. `root` is the
 * index of w in the table: outputs are multiplied by 1, w, w^2, w^3. */
static inline __attribute__((always_inline)) void
by_four(const struct transform *t, int root, int count, const double *restrict re, const double *restrict im,
        int in_step, double *restrict out_re, double *restrict out_im, int out_step)
{
    const double c1 = t->cosine[root], s1 = t->sine[root], c2 = t->cosine[2 * root], s2 = t->sine[2 * root];
    const double c3 = t->cosine[3 * root], s3 = t->sine[3 * root];
#pragma omp simd
    for (int i = 0; i < count; i++) {
        double a_re = re[i], a_im = im[i], b_re = re[i + in_step], b_im = im[i + in_step];
        double c_re = re[i + 2 * in_step], c_im = im[i + 2 * in_step];
        double d_re = re[i + 3 * in_step], d_im = im[i + 3 * in_step];
        double sum_re = a_re + c_re, sum_im = a_im + c_im, difference_re = a_re - c_re,
               difference_im = a_im - c_im;
        double other_re = b_re + d_re, other_im = b_im + d_im;
        double turned_re = b_im - d_im, turned_im = d_re - b_re; /* -i (b - d) */
        out_re[i] = sum_re + other_re;
        out_im[i] = sum_im + other_im;
        double x_re = difference_re + turned_re, x_im = difference_im + turned_im;
        out_re[i + out_step] = c1 * x_re - s1 * x_im;
        out_im[i + out_step] = c1 * x_im + s1 * x_re;
        double y_re = sum_re - other_re, y_im = sum_im - other_im;
        out_re[i + 2 * out_step] = c2 * y_re - s2 * y_im;
        out_im[i + 2 * out_step] = c2 * y_im + s2 * y_re;
        double z_re = difference_re - turned_re, z_im = difference_im - turned_im;
        out_re[i + 3 * out_step] = c3 * z_re - s3 * z_im;
        out_im[i + 3 * out_step] = c3 * z_im + s3 * z_re;
    }
}

static void by_two(int count, const struct lines *in, struct lines *out)
{
#pragma omp simd
    for (int i = 0; i < count; i++) {
        out->re[i] = in->re[i] + in->re[i + count];
        out->im[i] = in->im[i] + in->im[i + count];
        out->re[i + count] = in->re[i] - in->re[i + count];
        out->im[i + count] = in->im[i] - in->im[i + count];
    }
}

struct lines *transform_lines(const struct transform *t, struct lines *lines, struct lines *spare)
{
    int left = t->length, done = 1; /* product of the factors to come, and of those done */
    for (; left >= 4; left /= 4, done *= 4) {
        int quarter = left / 4, count = done * LANES, in_step = quarter * count;
        for (int p = 0; p < quarter; p++) {
            const double *re = lines->re + p * count, *im = lines->im + p * count;
            double *out_re = spare->re + 4 * p * count, *out_im = spare->im + 4 * p * count;
            /* The first pass has a constant count: its loop then is one register wide. */
            if (done == 1) by_four(t, p, LANES, re, im, in_step, out_re, out_im, LANES);
            else by_four(t, p * done, count, re, im, in_step, out_re, out_im, count);
        }
        struct lines *swap = lines;
        lines = spare;
        spare = swap;
    }
    if (left == 1) return lines;
    by_two(done * LANES, lines, spare);
    return spare;
}
