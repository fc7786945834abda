//! Jobs of several users that have one name.
//!
//! A job's name is a variable of its processes, which every user can set; and what launchers start by hand
//! has none. To root, who sees the processes of all users, those of two may look like one job.

use crate::frame::ProcessStacks;
use nix::unistd::{Uid, User};
use std::collections::{BTreeMap, BTreeSet};

/// The name of a user of this host, or his number if he has none here.
pub fn user_name(user: u32) -> String {
    let known = User::from_uid(Uid::from_raw(user)).ok().flatten();
    known.map_or_else(|| user.to_string(), |known| known.name)
}

/// A job in words, behind the name of its program; nothing if it has no name.
pub fn job_in_words(job: Option<&str>, user: Option<&str>) -> String {
    match (job, user) {
        (Some(job), Some(user)) => format!(" (job {job} of {user})"),
        (Some(job), None) => format!(" (job {job})"),
        (None, Some(user)) => format!(" (of {user})"),
        (None, None) => String::new(),
    }
}

/// What a process says of its job, and the kernel of its user.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Its host.
    pub host: &'a str,
    /// The name of its job.
    pub job: Option<&'a str>,
    /// The name of its user, if that is known.
    pub user: Option<&'a str>,
}

/// The names of jobs that processes of several users say.
#[derive(Debug, Default)]
pub struct SharedNames(BTreeSet<Option<String>>);

impl SharedNames {
    /// Of these processes. A job of the resident runtime, which has a number, has one user by name on all
    /// hosts; others may have another one on each host, as ssh leads there.
    pub fn among<'a>(claims: impl IntoIterator<Item = Claim<'a>>) -> Self {
        let (mut users, mut shared) = (BTreeMap::new(), BTreeSet::new());
        for Claim { host, job, user } in claims {
            let Some(user) = user else { continue };
            let place = if job.is_some_and(is_number) { "" } else { host };
            if *users.entry((job, place)).or_insert(user) != user {
                shared.insert(job.map(str::to_owned));
            }
        }
        Self(shared)
    }

    /// Whether no name is shared.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What tells the job of a process from all others: its name, and its user if that is not enough.
    pub(crate) fn key(&self, process: &ProcessStacks) -> (Option<String>, Option<String>) {
        let user = process.user.clone().filter(|_| self.0.contains(&process.job));
        (process.job.clone(), user)
    }
}

/// Whether the name of a job is one of the resident runtime: `7`, or `7_3` for a task of an array.
fn is_number(job: &str) -> bool {
    job.chars().all(|c| c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes as host, job and user.
    fn shared(claims: &[(&str, Option<&str>, Option<&str>)]) -> Vec<Option<String>> {
        let claims = claims.iter().map(|&(host, job, user)| Claim { host, job, user });
        SharedNames::among(claims).0.into_iter().collect()
    }

    #[test]
    fn a_number_is_of_one_user_on_all_hosts_and_other_names_are_on_each() {
        let (anna, otto) = (Some("anna"), Some("otto"));
        for job in [Some("7"), Some("7_3"), Some("run-5f85b471"), None] {
            assert_eq!(shared(&[("n1", job, anna), ("n2", job, anna)]), [], "{job:?}");
            assert_eq!(shared(&[("n1", job, anna), ("n1", job, otto)]), [job.map(str::to_owned)]);
            assert_eq!(shared(&[("n1", job, anna), ("n1", job, None)]), [], "nothing is known of it");
        }
        assert_eq!(shared(&[("n1", Some("7"), anna), ("n2", Some("7"), otto)]), [Some("7".to_owned())]);
        // By ssh the ranks of one job may be those of another user on each host.
        for job in [Some("run-5f85b471"), None] {
            assert_eq!(shared(&[("n1", job, anna), ("n2", job, otto)]), [], "{job:?}");
        }
        assert_eq!(shared(&[("n1", Some("7"), anna), ("n1", Some("8"), otto)]), []);
    }

    #[test]
    fn users_have_names_or_numbers() {
        assert_eq!(user_name(0), "root");
        assert_eq!(user_name(3_999_999_999), "3999999999", "a user of a container, perhaps");
    }
}
