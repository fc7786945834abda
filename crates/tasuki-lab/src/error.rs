//! Errors of labs, in words for the user.

use crate::listener::Stranger;
use std::io;
use tasuki_cluster::Cluster;
use thiserror::Error;

/// What went wrong with a lab.
#[derive(Debug, Error)]
pub enum LabError {
    /// The process is not root's, but namespaces need root, and a lab serves only root.
    #[error(
        "a lab needs root (namespaces, interfaces and eBPF), to build it and to use it; run this with sudo"
    )]
    NotRoot,
    /// The name cannot be a lab's.
    #[error(
        "{0:?} cannot be a lab's name: use 1 to 40 letters, digits, '-', '_' or '.', a letter or digit first"
    )]
    BadName(String),
    /// Another lab has the name.
    #[error(
        "a lab named {0} is already up; take it down with `tasuki lab down {0}`, or choose another --name"
    )]
    AlreadyUp(String),
    /// No lab of the name is up.
    #[error("no lab named {name} is up{}", others(.running))]
    NotUp {
        /// The name asked for.
        name: String,
        /// Labs that are up.
        running: Vec<String>,
    },
    /// The name is held by a process that is no lab.
    #[error(
        "the lab's name {name} is taken by {stranger}: nothing was sent to it. End that process, or choose \
         another --name"
    )]
    Stranger {
        /// The name asked for, or the path of the socket.
        name: String,
        /// The process that has the name.
        stranger: Box<Stranger>,
    },
    /// The lab's queue of connections stays full.
    #[error("the lab takes no connections; its process may be stopped (state T in `ps`)")]
    Deaf,
    /// Several labs are up and none was named.
    #[error("several labs are up ({}); say which with --lab", .0.join(", "))]
    Ambiguous(Vec<String>),
    /// No lab is up.
    #[error("no lab is up; start one with `tasuki lab up CLUSTER.toml` or `tasuki lab up --shape full:4`")]
    NoneUp,
    /// The cluster has no such host.
    #[error("the lab has no host {name}; it has {}", .hosts.join(", "))]
    NoHost {
        /// The name asked for.
        name: String,
        /// Hosts of the lab.
        hosts: Vec<String>,
    },
    /// Building or using the lab failed.
    #[error("{0}")]
    Failed(String),
    /// The lab went away in the middle of a request.
    #[error("the lab ended while it was busy with {0}")]
    Ended(&'static str),
    /// `tasuki-agent` was called without a host.
    #[error("usage: tasuki-agent [ssh options] HOST COMMAND...")]
    AgentUsage,
    /// A signal asked this process to end before its command in a host had ended.
    #[error("interrupted")]
    Interrupted,
    /// A system call of the client failed.
    #[error("{what}: {source}")]
    System {
        /// What was attempted.
        what: String,
        /// The kernel's error.
        source: io::Error,
    },
}

fn others(running: &[String]) -> String {
    if running.is_empty() {
        return "; start one with `tasuki lab up`".into();
    }
    format!("; these are: {}", running.join(", "))
}

impl LabError {
    /// For `map_err`: a failed system call and what it was for.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| LabError::System { what, source: source.into() }
    }

    /// The cluster has no host of that name.
    pub(crate) fn no_host(cluster: &Cluster, name: &str) -> Self {
        let hosts = cluster.hosts.iter().map(|host| host.name.clone()).collect();
        LabError::NoHost { name: name.into(), hosts }
    }
}
