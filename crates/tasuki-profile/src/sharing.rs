//! Why a page moves between processes.

use serde::Serialize;

use crate::record::PageSum;
use crate::words::Words;

/// Words that one process writes of a page, if what others read of it is thought to be something else. Of
/// what is read only the first word is known, and who reads a row of which more is written may come to that
/// later.
const FEW: u32 = 64;

/// Why a page has moved, the reasons that can be helped first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Several processes write different words of it, or one writes a few words and others read elsewhere in
    /// it: each needs the page, none the other's bytes.
    FalseSharing,
    /// Several processes write the same words.
    SameWords,
    /// One process writes words that others read.
    Exchanged,
    /// It came once to each process that uses it.
    Once,
}

impl Sharing {
    /// Of a page, as the processes have seen it; `None` if it has not moved.
    pub fn of(processes: &[&PageSum]) -> Option<Sharing> {
        let used: Vec<_> = processes.iter().map(|page| page.used()).collect();
        let moves: u64 = processes.iter().map(|page| page.moves()).sum();
        let moved = moves > 1 || processes.iter().any(|page| page.moves() > 0 && page.first_in.is_none());
        if !moved {
            return None;
        }
        // Twice to one process: it read the page, and wrote it then.
        if processes.iter().all(|page| page.moves() <= 2) {
            return Some(Sharing::Once);
        }
        let written: Vec<&Words> = used.iter().map(|words| &words.written).collect();
        let writers: Vec<usize> = (0..written.len()).filter(|&one| !written[one].is_empty()).collect();
        if writers.len() > 1 {
            let mut all = Words::default();
            for &writer in &writers {
                if all.overlaps(written[writer]) {
                    return Some(Sharing::SameWords);
                }
                all.add(written[writer]);
            }
            return Some(Sharing::FalseSharing);
        }
        let Some(&writer) = writers.first() else { return Some(Sharing::Exchanged) };
        let is_apart = |one: usize| !used[one].read.is_empty() && !used[one].read.is_near(written[writer]);
        let mut readers = (0..used.len()).filter(|&one| one != writer && processes[one].moves() > 0);
        let apart =
            written[writer].count() <= FEW && readers.clone().next().is_some() && readers.all(is_apart);
        Some(if apart { Sharing::FalseSharing } else { Sharing::Exchanged })
    }

    /// In a table.
    pub fn word(self) -> &'static str {
        match self {
            Sharing::FalseSharing => "false sharing",
            Sharing::SameWords => "same words",
            Sharing::Exchanged => "exchanged",
            Sharing::Once => "came once",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::PageWords;

    /// A page that a process has asked for so often, with bytes of words that it has read and written.
    fn page(faults: u64, fresh: bool, read: &[u64], written: &[u64]) -> PageSum {
        let mut words = PageWords::default();
        read.iter().for_each(|&at| words.add(at, false));
        written.iter().for_each(|&at| words.add(at, true));
        PageSum { page: 0, first_in: fresh.then_some(0), touched: None, faults, early: 0, words: Some(words) }
    }

    fn of(processes: &[PageSum]) -> Option<Sharing> {
        Sharing::of(&processes.iter().collect::<Vec<_>>())
    }

    #[test]
    fn each_reason_is_told_from_the_others() {
        // Two counters side by side.
        assert_eq!(of(&[page(9, true, &[], &[0]), page(9, false, &[], &[4])]), Some(Sharing::FalseSharing));
        // One counter.
        assert_eq!(of(&[page(9, true, &[], &[0]), page(9, false, &[], &[0])]), Some(Sharing::SameWords));
        // The rim of a neighbour's part, and a reader who only needs what lies beside it.
        assert_eq!(of(&[page(9, true, &[], &[0, 4]), page(9, false, &[4], &[])]), Some(Sharing::Exchanged));
        assert_eq!(of(&[page(9, true, &[], &[0]), page(9, false, &[4], &[])]), Some(Sharing::Exchanged));
        assert_eq!(of(&[page(9, true, &[], &[0]), page(9, false, &[64], &[])]), Some(Sharing::FalseSharing));
        // What is read by all, and what nobody else wants.
        assert_eq!(of(&[page(1, true, &[], &[0]), page(1, false, &[0], &[])]), Some(Sharing::Once));
        assert_eq!(of(&[page(1, true, &[], &[0])]), None);
        assert_eq!(of(&[page(0, false, &[], &[])]), None);
    }
}
