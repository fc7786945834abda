/* CG: what its two files share. The matrix is cut into rows x columns blocks, one per rank; vectors into one
 * chunk per rank, of which rank q holds the q-th. docs/internals/nas.md explains the exchange. */
#ifndef TASUKI_NAS_CG_H
#define TASUKI_NAS_CG_H

#include "common/nas.h"

enum { LANES = 8 }; /* rows are padded to a multiple of this with zeros */

struct problem {
    char class;
    int order, nonzeros, iterations; /* nonzeros: of each random vector, before its own index is added */
    double shift, zeta;
};

/* A block of the matrix by rows. Columns count from the block's first one, in 16 bits where they fit: the
 * product is bound by how fast values and columns come from memory. */
struct block {
    int rows, columns;
    int64_t *start;         /* rows + 1 */
    double *value;
    uint16_t *narrow;       /* one of the two is NULL */
    int32_t *wide;
};

/* cg-matrix.c: the block with the given first row and column of the problem's matrix, shift included. */
void make_block(const struct problem *problem, int first_row, int rows, int first_column, int columns,
                struct block *block);

#endif
