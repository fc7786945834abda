//! The key of a job on a cluster whose file says `authenticate = true`.

use crate::{RunError, random};
use tasuki_cluster::Cluster;
use tasuki_launch::{Job, Transport};

/// The variable with the key of the job, which every endpoint reads.
pub(crate) const JOB_KEY: &str = "TASUKI_JOB_KEY";

/// Words of a shell that draw a key for a job: 16 random bytes in hexadecimal.
pub(crate) const NEW_KEY: &str = r#""$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')""#;

/// The key that a job needs on a cluster whose file says `authenticate = true`, for those who start the job
/// by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyAdvice {
    /// The variable that every rank must have.
    pub variable: &'static str,
    /// The words of a shell that give its value. They draw it: no key is shown.
    pub shell: &'static str,
    /// Why it is needed.
    pub why: &'static str,
}

/// What a plain `mpirun` over this transport needs to authenticate its packets; `None`: the cluster does not
/// ask for it.
///
/// # Errors
/// If the cluster asks for it, and the transport does not do it.
pub fn key_advice(cluster: &Cluster, transport: &Transport) -> Result<Option<KeyAdvice>, RunError> {
    match (cluster.authenticate, transport) {
        (false, _) => Ok(None),
        (true, Transport::Tcp) => Err(RunError::Unauthenticated),
        (true, _) => Ok(Some(KeyAdvice {
            variable: JOB_KEY,
            shell: NEW_KEY,
            why: "the cluster file says authenticate = true: all ranks of a job need one key, which this \
                  draws in your shell and does not show",
        })),
    }
}

/// Draws a key for a job, unless the user has given one. It reaches the ranks in their environment, of which
/// launchers name the variable alone on command lines.
pub(crate) fn authenticate(job: &mut Job) -> Result<(), RunError> {
    if job.transport == Transport::Tcp {
        return Err(RunError::Unauthenticated);
    }
    add_key(job)
}

/// Draws a key for a job over Tasuki, unless the user has given one: its endpoints authenticate messages with
/// it where the cluster's file says `authenticate = true`.
///
/// # Errors
/// If the kernel gives no random numbers.
pub fn add_key(job: &mut Job) -> Result<(), RunError> {
    if job.env.iter().any(|(name, _)| name == JOB_KEY) {
        return Ok(());
    }
    job.env.push((JOB_KEY.into(), random::digits()?.into()));
    Ok(())
}
