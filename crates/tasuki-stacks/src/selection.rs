//! Which processes are looked at; all others are left alone.

use crate::jobs::user_name;
use serde::{Deserialize, Serialize};
use tasuki_load::ProcessSample;

/// Which processes are meant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Selection {
    /// Those of this job of the resident runtime; `None`: of all.
    pub job: Option<String>,
    /// Those of the user of this name; `None`: of all.
    #[serde(default)]
    pub user: Option<String>,
    /// Those of the program of this name; `None`: of all.
    pub program: Option<String>,
    /// Those of these ranks, as a list of the first and last of spans; none: of all.
    pub ranks: Vec<(u32, u32)>,
}

impl Selection {
    /// Whether a process is meant.
    pub fn has(&self, process: &ProcessSample) -> bool {
        let is_meant = |rank| self.ranks.iter().any(|(first, last)| (*first..=*last).contains(&rank));
        let is_rank = self.ranks.is_empty() || process.page.rank.is_some_and(is_meant);
        let is_program = self.program.as_ref().is_none_or(|program| *program == process.page.program);
        let is_user = |user: &String| process.page.user.is_some_and(|own| user_name(own) == *user);
        let is_users = self.user.as_ref().is_none_or(is_user);
        is_rank && is_program && is_users && (self.job.is_none() || self.job == process.job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_ring::stats_page::Snapshot;

    #[test]
    fn job_program_and_ranks_must_all_fit() {
        let page = Snapshot { program: "heat".into(), rank: Some(5), ..Snapshot::default() };
        let process = ProcessSample { page, job: Some("7".into()), ..ProcessSample::default() };
        let all = Selection::default();
        let of = |job: &str, program: &str, ranks: &[(u32, u32)]| Selection {
            job: Some(job.into()),
            program: Some(program.into()),
            ranks: ranks.to_vec(),
            user: None,
        };
        assert!(all.has(&process) && of("7", "heat", &[(0, 0), (4, 6)]).has(&process));
        for other in [of("8", "heat", &[]), of("7", "cg", &[]), of("7", "heat", &[(0, 4), (6, 9)])] {
            assert!(!other.has(&process), "{other:?}");
        }
        let of_root =
            ProcessSample { page: Snapshot { user: Some(0), ..process.page.clone() }, ..process.clone() };
        let of_user = |name: &str| Selection { user: Some(name.into()), ..Selection::default() };
        assert!(of_user("root").has(&of_root) && !of_user("nobody").has(&of_root));
        assert!(!of_user("root").has(&process), "its user is not known");
        let without_rank = ProcessSample::default();
        assert!(all.has(&without_rank) && !Selection { ranks: vec![(0, 9)], ..all }.has(&without_rank));
    }
}
