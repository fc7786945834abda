/* CG's matrix (RNR-94-007, section 2.5): the sum over i of weight_i x_i x_i^T, plus 0.1 - shift on the
 * diagonal, with sparse random vectors x_i. Every rank draws all vectors and keeps what falls into its
 * block. */
#include "cg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CONDITION = 0.1; /* of the matrix without shift; also added to the diagonal */

/* An entry of a block on its way into a row. */
struct entry {
    int32_t column;
    double value;
};

/* All random vectors: vector i has nonzeros[i] elements from i * most on. */
struct vectors {
    int most;
    int *count;
    int32_t *place;
    double *value;
};

static double draw(uint64_t *x)
{
    *x = nas_step(*x, NAS_MULTIPLIER);
    return nas_uniform(*x);
}

/* Element and place are drawn in this order; places beyond the order, or drawn before, are drawn again. At
 * last the vector's own index gets 1/2. */
static int draw_vector(const struct problem *problem, int own, uint64_t *x, int32_t *place, double *value)
{
    int power = 1, count = 0;
    while (power < problem->order) power *= 2;
    while (count < problem->nonzeros) {
        double element = draw(x);
        int32_t where = (int32_t)(power * draw(x));
        bool taken = where >= problem->order;
        for (int i = 0; i < count && !taken; i++) taken = place[i] == where;
        if (taken) continue;
        place[count] = where;
        value[count++] = element;
    }
    for (int i = 0; i < count; i++) {
        if (place[i] != own) continue;
        value[i] = 0.5;
        return count;
    }
    place[count] = own;
    value[count] = 0.5;
    return count + 1;
}

static struct vectors draw_vectors(const struct problem *problem)
{
    int most = problem->nonzeros + 1;
    size_t all = (size_t)problem->order * (size_t)most;
    struct vectors vectors = {most, nas_memory((size_t)problem->order, sizeof(int)),
                              nas_memory(all, sizeof(int32_t)), nas_memory(all, sizeof(double))};
    uint64_t x = 314159265;
    draw(&x); /* the first number is not used */
    for (int i = 0; i < problem->order; i++) {
        size_t at = (size_t)i * (size_t)most;
        vectors.count[i] = draw_vector(problem, i, &x, vectors.place + at, vectors.value + at);
    }
    return vectors;
}

/* Calls for every product of two elements of a vector that falls into the block: how many each row gets
 * (entries NULL), or the products themselves; `next` counts them per row. */
static void spread(const struct problem *problem, const struct vectors *vectors, int first_row,
                   int first_column, const struct block *block, int64_t *next, struct entry *entries)
{
    double weight = 1, ratio = pow(CONDITION, 1.0 / problem->order);
    for (int i = 0; i < problem->order; i++, weight *= ratio) {
        const int32_t *place = vectors->place + (size_t)i * (size_t)vectors->most;
        const double *value = vectors->value + (size_t)i * (size_t)vectors->most;
        for (int a = 0; a < vectors->count[i]; a++) {
            int row = place[a] - first_row;
            if (row < 0 || row >= block->rows) continue;
            for (int b = 0; b < vectors->count[i]; b++) {
                int column = place[b] - first_column;
                if (column < 0 || column >= block->columns) continue;
                if (entries) entries[next[row]] = (struct entry){column, weight * value[a] * value[b]};
                next[row]++;
            }
        }
    }
}

static int by_column(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return (left->column > right->column) - (left->column < right->column);
}

/* Sorts a row and adds up what has the same column; the new number of entries. */
static int64_t merge(struct entry *row, int64_t count)
{
    qsort(row, (size_t)count, sizeof *row, by_column);
    int64_t kept = 0;
    for (int64_t i = 0; i < count; i++) {
        if (kept && row[kept - 1].column == row[i].column) row[kept - 1].value += row[i].value;
        else row[kept++] = row[i];
    }
    return kept;
}

static int64_t padded(int64_t count) { return (count + LANES - 1) / LANES * LANES; }

static void store(struct block *block, const struct entry *entries, const int64_t *from, const int64_t *kept)
{
    block->start = nas_memory((size_t)block->rows + 1, sizeof *block->start);
    for (int row = 0; row < block->rows; row++) block->start[row + 1] = block->start[row] + padded(kept[row]);
    size_t all = (size_t)block->start[block->rows];
    block->value = nas_memory(all, sizeof *block->value);
    if (block->columns <= 1 << 16) block->narrow = nas_memory(all, sizeof *block->narrow);
    else block->wide = nas_memory(all, sizeof *block->wide);
    for (int row = 0; row < block->rows; row++) {
        int64_t at = block->start[row];
        for (int64_t i = 0; at < block->start[row + 1]; i++, at++) {
            /* Padding repeats the last column: it is in cache. */
            const struct entry *entry = &entries[from[row] + (i < kept[row] ? i : kept[row] - 1)];
            block->value[at] = i < kept[row] ? entry->value : 0;
            if (block->narrow) block->narrow[at] = (uint16_t)entry->column;
            else block->wide[at] = entry->column;
        }
    }
}

void make_block(const struct problem *problem, int first_row, int rows, int first_column, int columns,
                struct block *block)
{
    *block = (struct block){.rows = rows, .columns = columns};
    struct vectors vectors = draw_vectors(problem);
    int64_t *next = nas_memory((size_t)rows + 1, sizeof *next),
            *from = nas_memory((size_t)rows + 1, sizeof *from);
    spread(problem, &vectors, first_row, first_column, block, next, NULL);
    for (int row = 0; row < rows; row++)
        from[row + 1] = from[row] + next[row] + 1; /* room for the diagonal */
    struct entry *entries = nas_memory((size_t)from[rows], sizeof *entries);
    memcpy(next, from, (size_t)rows * sizeof *next);
    spread(problem, &vectors, first_row, first_column, block, next, entries);
    for (int row = 0; row < rows; row++) {
        int column = first_row + row - first_column;
        if (column >= 0 && column < columns && first_row + row < problem->order)
            entries[next[row]++] = (struct entry){column, CONDITION - problem->shift};
        next[row] = merge(entries + from[row], next[row] - from[row]);
    }
    store(block, entries, from, next);
    free(vectors.count), free(vectors.place), free(vectors.value);
    free(next), free(from), free(entries);
}
