//! What an owner and its shepherd say to each other.

use crate::{Kept, Turns};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tasuki_pmi::{FenceIn, FenceOut};

/// What an owner wants of a shepherd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// The result of a fence, for the host's ranks.
    Fenced(FenceOut),
    /// Bytes for rank 0's standard input, at most [`INPUT_WINDOW`](crate::INPUT_WINDOW) of them beyond
    /// what [`Event::InputTaken`] has told. They are dropped where there is no rank 0 or it reads no
    /// more.
    Input {
        /// Place of the first byte in the whole input. What the shepherd has received already is passed
        /// over, so that a new owner may begin with what rank 0 has not taken.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Rank 0's standard input is at its end.
    InputEnd,
    /// A signal for the process group of every rank that lives.
    Signal(i32),
    /// All processes of the job stand still: [`Event::Frozen`].
    Freeze,
    /// All processes of the job go on: [`Event::Thawed`]. They do when it is the job's turn.
    Thaw,
    /// From an instant on the job runs in turns with others; [`Event::Kept`] tells now and then how well.
    Turns(Turns),
    /// The job ends: SIGTERM to every rank's process group, and SIGKILL to everything that is left after
    /// so many milliseconds; 0: SIGKILL at once.
    End {
        /// Milliseconds between the signals.
        grace_ms: u64,
    },
    /// Asks for [`Event::State`].
    Query,
    /// The owner has done with all events up to this one, by their [number](Event::is_kept), and wants none
    /// of them told to another owner.
    Taken(u64),
}

/// What a shepherd tells its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// All ranks run.
    Started(State),
    /// A rank could not be started. Those that were are killed, and [`Event::Ended`] follows.
    NotStarted {
        /// The rank.
        rank: u32,
        /// Why, for the user.
        why: String,
    },
    /// What a rank has written.
    Output {
        /// The rank.
        rank: u32,
        /// Where to.
        stream: Stream,
        /// One or more lines.
        bytes: Vec<u8>,
        /// Whether the last line is whole. If not, it was longer than 64 KiB, or nothing came for 200 ms
        /// (a prompt), or the stream ended without the end of a line: the next bytes go on in the same
        /// line.
        whole: bool,
    },
    /// So many bytes of standard input were taken by rank 0, or dropped, since it began.
    InputTaken(u64),
    /// Rank 0 reads no more.
    InputClosed,
    /// This host's part of a fence, for the job's [`Joint`](tasuki_pmi::Joint).
    Fence(FenceIn),
    /// A rank wants the whole job ended with this exit code (`MPI_Abort`).
    Abort {
        /// The rank.
        rank: u32,
        /// The exit code.
        code: i32,
        /// Why, if the rank said so.
        message: String,
    },
    /// A rank will never come to a fence (again): it ended before `MPI_Init` or after `MPI_Finalize`. For
    /// [`Joint::gone`](tasuki_pmi::Joint::gone).
    Gone {
        /// The rank.
        rank: u32,
    },
    /// A rank ended between `MPI_Init` and `MPI_Finalize`: others may wait for it for ever.
    Lost {
        /// The rank.
        rank: u32,
    },
    /// A rank waits for one of the same host that is gone, for ever.
    Stuck {
        /// The rank that waits.
        rank: u32,
        /// The rank that is gone.
        awaits: u32,
    },
    /// A rank broke the PMI protocol and has no connection any more.
    Refused {
        /// The rank.
        rank: u32,
        /// What it did.
        why: String,
    },
    /// Everything of the job stands still.
    Frozen {
        /// How long that took, in microseconds.
        micros: u64,
    },
    /// Everything of the job goes on.
    Thawed {
        /// How long that took, in microseconds.
        micros: u64,
    },
    /// How well the instants of turns were kept since this was last told; at most once a second.
    Kept(Kept),
    /// A command could not be carried out.
    Failed {
        /// What failed and why.
        what: String,
    },
    /// All of the job was killed, and for a long time some of it does not end. The shepherd goes on trying,
    /// and [`Event::Ended`] follows if that ever helps.
    Remains {
        /// What is left.
        what: String,
    },
    /// Something is not as it should be, which changes nothing for the job.
    Note {
        /// What.
        what: String,
    },
    /// A rank has ended. Some of its output may still follow.
    RankEnded {
        /// The rank.
        rank: u32,
        /// How.
        end: End,
    },
    /// How things are: the answer to [`Command::Query`], and the first word to a new owner.
    State(State),
    /// The last event: all ranks have ended, and nothing of the job is left.
    Ended {
        /// How many processes that ranks had left behind were killed.
        swept: u32,
    },
}

impl Event {
    /// Whether the event has a number, counted from 1, and is told again to another owner until
    /// [`Command::Taken`] names it. Others say how things are, which [`Event::State`] does, too; a part of a
    /// fence is told again until it has a result.
    pub fn is_kept(&self) -> bool {
        !matches!(
            self,
            Event::State(_)
                | Event::InputTaken(_)
                | Event::Kept(_)
                | Event::Frozen { .. }
                | Event::Thawed { .. }
                | Event::Fence(_)
        )
    }
}

/// A stream that a rank writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

/// How a job's processes are held together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Residence {
    /// By a cgroup of the unified hierarchy (version 2), at this folder.
    V2(PathBuf),
    /// By a cgroup of the freezer hierarchy (version 1), at this folder.
    V1Freezer(PathBuf),
    /// As descendants of the shepherd: there is no cgroup hierarchy that the shepherd may use.
    Processes,
}

/// How a job is on one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The shepherd's process.
    pub pid: u32,
    /// How the job's processes are held together.
    pub residence: Residence,
    /// Its ranks.
    pub ranks: Vec<RankState>,
    /// Whether they stand still.
    pub frozen: bool,
    /// The last event that an owner has done with.
    pub taken: u64,
    /// Bytes of standard input that rank 0 has taken, or that were dropped.
    pub input: u64,
}

/// How a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankState {
    /// Its number.
    pub rank: u32,
    /// Its process, whose number may be another's once it has ended.
    pub pid: u32,
    /// How it ended; `None`: it runs.
    pub end: Option<End>,
}
