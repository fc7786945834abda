//! What goes into the queue and comes out of it.

use tasuki_control::{Bytes, JobId, JobView, Order, SessionId, Work};

/// A host, by its place in the cluster.
pub type HostIndex = usize;

/// A command, by the host that it runs on and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// The host.
    pub host: HostIndex,
    /// Its number there.
    pub session: SessionId,
}

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write down what is known of a job, so that it outlives this process. What comes after it waits for
    /// that.
    Save(JobId),
    /// Tell a host.
    Tell(HostIndex, Order),
    /// Tell all hosts that jobs take turns in another way.
    Turns(Rows),
    /// The job is over: tell those who follow it.
    Over(JobId),
    /// Tell the user of a job that it is over, with programs along this path (the job's PATH).
    Notify(JobId, Option<Bytes>),
}

/// A job as it was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// What is known of it.
    pub view: JobView,
    /// What is to be run, if it was not over.
    pub work: Option<Work>,
}

/// How jobs take turns; those that are not named run all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Jobs that run at once, row by row; none or at least two rows. A job may be in several.
    pub rows: Vec<Vec<JobId>>,
    /// Jobs that stand still.
    pub paused: Vec<JobId>,
}
