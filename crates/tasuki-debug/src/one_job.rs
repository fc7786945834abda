//! Whether the processes that are meant are of one job.

use crate::Member;
use std::collections::BTreeSet;
use tasuki_stacks::{Claim, SharedNames, ranks_in_words};

/// What to say where processes of several jobs are meant, whose ranks could not be told apart.
pub fn several_jobs(members: &[Member]) -> Option<String> {
    let mut known = BTreeSet::new();
    let ranks = members.iter().filter_map(|member| member.debuggee.rank);
    let twice: BTreeSet<u32> = ranks.filter(|rank| !known.insert(*rank)).collect();
    let claims = members.iter().map(|member| Claim {
        host: &member.host_name,
        job: member.debuggee.job.as_deref(),
        user: member.debuggee.user.as_deref(),
    });
    let of_users = !SharedNames::among(claims).is_empty();
    if twice.is_empty() && !of_users {
        return None;
    }
    let what = match twice.is_empty() {
        true => "processes of several users have jobs of one name".into(),
        false => format!("several processes are rank {}", ranks_in_words(&Vec::from_iter(twice))),
    };
    let names: BTreeSet<String> = members.iter().map(|member| name(member, of_users)).collect();
    let names = Vec::from_iter(names).join(" or ");
    Some(format!("{what}: say which job is meant, {names}"))
}

/// What to write for the job of a process.
fn name(member: &Member, with_user: bool) -> String {
    let debuggee = &member.debuggee;
    let user = debuggee.user.as_ref().filter(|_| with_user).map(|user| format!("--user {user}"));
    let job = match (&debuggee.job, &user) {
        (Some(job), _) => Some(format!("job {job}")),
        (None, Some(_)) => None,
        (None, None) => Some(format!("--program {}", debuggee.program)),
    };
    job.into_iter().chain(user).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Debuggee, State};

    fn member(host: &str, rank: u32, job: Option<&str>, user: &str) -> Member {
        let debuggee = Debuggee {
            rank: Some(rank),
            program: "heat".into(),
            job: job.map(str::to_owned),
            user: Some(user.into()),
            ..Debuggee::default()
        };
        Member { host: 0, host_name: host.into(), debuggee, state: State::Stopped, text: String::new() }
    }

    #[test]
    fn what_to_write_is_said_where_jobs_could_be_mixed_up() {
        let one = [member("n1", 0, Some("7"), "anna"), member("n2", 1, Some("7"), "anna")];
        assert_eq!(several_jobs(&one), None);
        let said = |other: Member| several_jobs(&[&one[..], &[other]].concat()).expect("two jobs");
        assert_eq!(
            said(member("n1", 0, Some("8"), "anna")),
            "several processes are rank 0: say which job is meant, job 7 or job 8"
        );
        assert_eq!(
            said(member("n3", 2, Some("7"), "otto")),
            "processes of several users have jobs of one name: say which job is meant, job 7 --user anna or \
             job 7 --user otto"
        );
        let by_hand = [member("n1", 0, None, "anna"), member("n1", 0, None, "otto")];
        let words = several_jobs(&by_hand).expect("two jobs");
        assert!(words.ends_with("which job is meant, --user anna or --user otto"), "{words}");
        // By ssh, ranks of one job may be those of another user on each host.
        assert_eq!(several_jobs(&[member("n1", 0, None, "anna"), member("n2", 1, None, "root")]), None);
    }
}
