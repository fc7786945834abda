/* One damaged message, to show that verification notices. */
#include "nas.h"
#include "profile.h"

static long awaited;        /* messages until the one to damage; 0: none, or it has come */
static long which_bit;

void damage_prepare(long number, long bit)
{
    awaited = number;
    which_bit = bit;
}

/* Unless told otherwise: the highest bit of the exponent of a double, as other bits may be below the
 * tolerance of the verification, or belong to a zero. In pairs of integers or single numbers it is bit 30 of
 * the second one. The golden section of the message is no multiple of a row's length, whose ends may be
 * ghosts that nobody reads. */
static size_t usual_bit(size_t bytes)
{
    size_t words = bytes / 8;
    return words ? (size_t)(0.618 * (double)words) * 64 + 62 : bytes * 8 - 2;
}

void damage_received(void *payload, size_t bytes)
{
    if (!awaited || !bytes || --awaited) return;
    size_t bit = which_bit < 0 ? usual_bit(bytes) : (size_t)which_bit % (bytes * 8);
    ((unsigned char *)payload)[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

bool damage_done(void) { return awaited == 0; }
