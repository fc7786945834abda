//! Counts pairs of parts by their distance, with sets of bits: after round `k` the set of a part has all ends
//! (the parts that count) within `k` cables.

/// Numbers of ordered pairs of the first `ends` parts that are at most 0, 1, 2, ... cables apart, the pair of
/// a part with itself included. The list ends when all pairs are counted or a round reaches no further part.
/// `near` has the neighbours of all parts; a path passes only parts that forward.
pub(crate) fn within(near: &[Vec<u32>], ends: usize, forwards: impl Fn(usize) -> bool) -> Vec<u64> {
    let words = ends.div_ceil(64);
    let mut now = vec![0u64; near.len() * words];
    for end in 0..ends {
        now[end * words + end / 64] |= 1 << (end % 64);
    }
    let mut next = now.clone();
    let all = (ends * ends) as u64;
    let (mut reached, mut known) = (vec![ends as u64], ends as u64);
    while reached.last().is_some_and(|&pairs| pairs < all) {
        let (mut of_ends, mut of_all) = (0, 0);
        for (part, beside) in near.iter().enumerate() {
            let to = &mut next[part * words..(part + 1) * words];
            for other in beside.iter().map(|&other| other as usize) {
                if forwards(other) {
                    let from = &now[other * words..(other + 1) * words];
                    to.iter_mut().zip(from).for_each(|(to, word)| *to |= word);
                } else if other < ends {
                    to[other / 64] |= 1 << (other % 64);
                }
            }
            of_all += to.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            of_ends = if part < ends { of_all } else { of_ends };
        }
        // Even if a round reaches no further end, it may reach parts that lead to one.
        if of_all == std::mem::replace(&mut known, of_all) {
            break;
        }
        reached.push(of_ends);
        now.copy_from_slice(&next);
    }
    reached
}
