//! What the user looks into: a host, a cable, a job.

use tasuki_load::{HostLoad, JobLoad, Load, NicLoad, RankLoad};

/// A part of the fleet, to which all tables are limited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A host.
    Host(String),
    /// A NIC, and what its cable leads to: a NIC of another host, or all NICs at a switch.
    Cable { host: String, nic: String, to: Option<String> },
    /// A job, by its name and its program.
    Job { job: Option<String>, program: String },
}

impl Scope {
    /// What it is called in a title.
    pub fn title(&self) -> String {
        match self {
            Self::Host(host) => host.clone(),
            Self::Cable { host, nic, to: Some(to) } => format!("{host}:{nic} - {to}"),
            Self::Cable { host, nic, to: None } => format!("{host}:{nic}"),
            Self::Job { job: Some(job), program } => format!("{program}, job {job}"),
            Self::Job { job: None, program } => program.clone(),
        }
    }

    pub fn has_nic(&self, nic: &NicLoad, load: &Load) -> bool {
        match self {
            Self::Host(host) => *host == nic.host,
            Self::Cable { host, nic: name, to } => {
                let is_own = *host == nic.host && *name == nic.nic;
                let is_other = to.as_deref().is_some_and(|to| to == format!("{}:{}", nic.host, nic.nic));
                is_own || is_other || same_switch(to.as_deref(), nic.to.as_deref(), load)
            }
            Self::Job { .. } => {
                load.ranks.iter().any(|rank| rank.host == nic.host && self.has_rank(rank, load))
            }
        }
    }

    pub fn has_rank(&self, rank: &RankLoad, load: &Load) -> bool {
        match self {
            Self::Host(host) => *host == rank.host,
            Self::Cable { .. } => {
                load.nics.iter().any(|nic| nic.host == rank.host && self.has_nic(nic, load))
            }
            Self::Job { job, program } => *job == rank.job && *program == rank.program,
        }
    }

    pub fn has_host(&self, host: &HostLoad, load: &Load) -> bool {
        match self {
            Self::Host(name) => *name == host.host,
            Self::Cable { .. } => {
                load.nics.iter().any(|nic| nic.host == host.host && self.has_nic(nic, load))
            }
            Self::Job { .. } => {
                load.ranks.iter().any(|rank| rank.host == host.host && self.has_rank(rank, load))
            }
        }
    }

    pub fn has_job(&self, job: &JobLoad, load: &Load) -> bool {
        let of_job = |rank: &&RankLoad| rank.job == job.job && rank.program == job.program;
        load.ranks.iter().filter(of_job).any(|rank| self.has_rank(rank, load))
    }
}

/// Whether two ends are ports of one switch. An end is a switch's if no NIC has its name.
fn same_switch(one: Option<&str>, other: Option<&str>, load: &Load) -> bool {
    let switch = |end: &str| {
        let is_nic = load.nics.iter().any(|nic| end == format!("{}:{}", nic.host, nic.nic));
        let (name, _) = end.rsplit_once(':').filter(|_| !is_nic)?;
        Some(name.to_owned())
    };
    let (one, other) = (one.and_then(switch), other.and_then(switch));
    one.is_some() && one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        let nic = |host: &str, nic: &str, to: &str| NicLoad {
            host: host.into(),
            nic: nic.into(),
            to: Some(to.into()),
            ..NicLoad::default()
        };
        let rank = |host: &str, job: &str| RankLoad {
            host: host.into(),
            program: "cg".into(),
            job: Some(job.into()),
            ..RankLoad::default()
        };
        Load {
            nics: vec![
                nic("n1", "eth1", "n2:eth1"),
                nic("n2", "eth1", "n1:eth1"),
                nic("n1", "eth2", "s1:1"),
                nic("n2", "eth2", "s1:2"),
                nic("n3", "eth2", "s2:1"),
            ],
            ranks: vec![rank("n1", "7"), rank("n3", "8")],
            ..Load::default()
        }
    }

    fn nics(scope: &Scope) -> Vec<String> {
        let load = load();
        let inside = load.nics.iter().filter(|nic| scope.has_nic(nic, &load));
        inside.map(|nic| format!("{}:{}", nic.host, nic.nic)).collect()
    }

    #[test]
    fn a_cable_has_two_ends_and_a_switch_all_of_its_ports() {
        let cable = |host: &str, nic: &str, to: &str| Scope::Cable {
            host: host.into(),
            nic: nic.into(),
            to: Some(to.into()),
        };
        assert_eq!(nics(&cable("n1", "eth1", "n2:eth1")), ["n1:eth1", "n2:eth1"]);
        assert_eq!(nics(&cable("n2", "eth2", "s1:2")), ["n1:eth2", "n2:eth2"]);
    }

    #[test]
    fn a_job_has_the_nics_of_its_hosts_and_a_host_has_its_jobs() {
        let job = Scope::Job { job: Some("8".into()), program: "cg".into() };
        assert_eq!(nics(&job), ["n3:eth2"]);
        let jobs = ["7", "8"].map(|job| JobLoad {
            job: Some(job.into()),
            program: "cg".into(),
            ..Default::default()
        });
        let inside = jobs.map(|job| Scope::Host("n1".into()).has_job(&job, &load()));
        assert_eq!(inside, [true, false]);
    }
}
