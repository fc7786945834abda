//! The server of one host: it answers that host's ranks.

mod barrier;

use crate::{
    FenceIn, FenceOut, JobShape, Limits, ShapeError,
    rank::{Rank, Stage},
    reply,
    request::Request,
    space::{self, Space},
};
use barrier::Barrier;
use std::collections::{BTreeMap, VecDeque};

/// What the owner of a [`Node`] has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write bytes to a rank's descriptor.
    Send {
        /// The rank.
        rank: u32,
        /// Whole lines.
        bytes: Vec<u8>,
    },
    /// Pass this host's part of a fence to the job's [`Joint`](crate::Joint).
    Fence(FenceIn),
    /// A rank wants the whole job ended (`MPI_Abort`).
    Abort {
        /// The rank.
        rank: u32,
        /// The exit code that the job is to have.
        code: i32,
        /// Why, if the rank says so.
        message: String,
    },
    /// A rank has left in order. It may begin again, or end.
    Finalized {
        /// The rank.
        rank: u32,
    },
    /// The connection of a rank has ended before the rank began, or after it left in order. Tell the job's
    /// [`Joint`](crate::Joint), because ranks on other hosts may wait for it.
    Gone {
        /// The rank.
        rank: u32,
    },
    /// The connection of a rank has ended although it had not left: others may wait for it for ever.
    Lost {
        /// The rank.
        rank: u32,
    },
    /// A rank waits for one that is gone, for ever: in a barrier, or because a rank that begins needs all
    /// ranks of the job to begin (MPICH 5.0 waits for those of its host in shared memory). End the job.
    Stuck {
        /// The rank that waits.
        rank: u32,
        /// The rank that is gone.
        awaits: u32,
    },
    /// A rank broke the protocol or a bound. Its connection is over: close it.
    Refused {
        /// The rank.
        rank: u32,
        /// What it did, in one line for the user.
        why: String,
    },
}

/// The PMI server of one host of a job.
#[derive(Debug)]
pub struct Node {
    shape: JobShape,
    host: u32,
    limits: Limits,
    mapping: Option<String>,
    ranks: BTreeMap<u32, Rank>,
    space: Space,
    barriers: BTreeMap<String, Barrier>,
    /// The number of the last result of each group.
    results: BTreeMap<String, u64>,
    actions: VecDeque<Action>,
}

impl Node {
    /// The server of a host, before any rank has said anything.
    ///
    /// # Errors
    /// If the shape is none, or has no rank on the host.
    pub fn new(shape: &JobShape, host: u32, limits: Limits) -> Result<Self, ShapeError> {
        shape.check()?;
        let ranks: BTreeMap<_, _> =
            shape.ranks_of(host).into_iter().map(|rank| (rank, Rank::new())).collect();
        if ranks.is_empty() {
            return Err(ShapeError::NoRanks(host));
        }
        Ok(Self {
            shape: shape.clone(),
            host,
            limits,
            mapping: shape.mapping(),
            ranks,
            space: Space::default(),
            barriers: BTreeMap::new(),
            results: BTreeMap::new(),
            actions: VecDeque::new(),
        })
    }

    /// Takes bytes that came from a rank's descriptor. Those of a rank whose connection is over, or that
    /// is not on this host, are dropped.
    pub fn receive(&mut self, rank: u32, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let Some(state) = self.ranks.get_mut(&rank).filter(|state| state.stage != Stage::Closed) else {
                return;
            };
            let done = match state.lines.take(bytes, self.limits.line) {
                Ok((taken, request)) => {
                    bytes = &bytes[taken..];
                    request.map_or(Ok(()), |text| self.handle(rank, &text))
                }
                Err(why) => Err(why),
            };
            if let Err(why) = done {
                self.close(rank);
                self.actions.push_back(Action::Refused { rank, why });
            }
        }
    }

    /// A rank's descriptor is at its end, or its process has ended. Further calls change nothing.
    pub fn closed(&mut self, rank: u32) {
        let Some(stage) = self.ranks.get(&rank).map(|state| state.stage) else { return };
        match stage {
            Stage::Closed => return,
            Stage::Running => self.actions.push_back(Action::Lost { rank }),
            Stage::Fresh => {
                self.actions.push_back(Action::Gone { rank });
                let begun = self.ranks.iter().find(|(_, state)| state.has_begun());
                if let Some((&waiting, _)) = begun {
                    self.actions.push_back(Action::Stuck { rank: waiting, awaits: rank });
                }
            }
            Stage::Finalized => {
                self.actions.push_back(Action::Gone { rank });
                let mut barriers = self.barriers.values();
                let stuck = barriers.find(|barrier| barrier.sent.is_none() && barrier.local.contains(&rank));
                if let Some(waiting) = stuck.and_then(|barrier| barrier.came.keys().next().copied()) {
                    self.actions.push_back(Action::Stuck { rank: waiting, awaits: rank });
                }
            }
        }
        self.close(rank);
    }

    /// Takes the result of a fence, in the order in which the joint gave results. One that came before
    /// changes nothing.
    pub fn fenced(&mut self, out: &FenceOut) {
        let last = self.results.entry(out.group.clone()).or_default();
        if out.number <= *last {
            return;
        }
        *last = out.number;
        for (key, value) in &out.puts {
            self.space.insert(key.clone(), value.clone());
        }
        if self.barriers.get(&out.group).is_some_and(|barrier| barrier.sent.is_some()) {
            self.release(&out.group);
        }
    }

    /// The next thing to do; `None`: nothing until something comes.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Parts of fences that were given and have no result yet, for a joint that has begun anew.
    pub fn pending(&self) -> impl Iterator<Item = &FenceIn> {
        self.barriers.values().filter_map(|barrier| barrier.sent.as_ref())
    }

    fn close(&mut self, rank: u32) {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.is_absent |= state.stage == Stage::Fresh;
            state.stage = Stage::Closed;
        }
    }

    fn handle(&mut self, rank: u32, text: &str) -> Result<(), String> {
        let request = Request::parse(text)?;
        let stage = self.ranks.get(&rank).map_or(Stage::Closed, |state| state.stage);
        let is_first = matches!(request, Request::Init { .. } | Request::Abort { .. });
        match stage {
            Stage::Fresh | Stage::Finalized if !is_first => {
                return Err(format!("{} before init", name_of(text)));
            }
            Stage::Running if matches!(request, Request::Init { .. }) => return Err("init twice".into()),
            _ => {}
        }
        let answer = match request {
            Request::Init { version, subversion } => self.init(rank, version, subversion),
            Request::Maxes => reply::maxes(),
            Request::Appnum => reply::appnum(),
            Request::Name => reply::name(&self.shape.name),
            Request::Universe => reply::universe(self.shape.universe.max(self.shape.size())),
            Request::Put { space, key, value } => self.put(rank, &space, key, value)?,
            Request::Get { space, key } => reply::get(self.get(&space, &key)),
            Request::GetByIndex { space, index } => {
                let is_ours = space == self.shape.name;
                reply::by_index(index, self.space.by_index(index).filter(|_| is_ours))
            }
            Request::Barrier { group } => return self.enter(rank, group),
            Request::Finalize => {
                self.set_stage(rank, Stage::Finalized);
                self.send(rank, reply::finalize());
                self.actions.push_back(Action::Finalized { rank });
                return Ok(());
            }
            Request::Abort { code, message } => {
                self.actions.push_back(Action::Abort { rank, code, message });
                return Ok(());
            }
            Request::Unserved { what, answer } => {
                reply::failure(answer, &format!("{what} is not to be had in a job that Tasuki started"))
            }
        };
        self.send(rank, answer);
        Ok(())
    }

    fn send(&mut self, rank: u32, text: String) {
        self.actions.push_back(Action::Send { rank, bytes: text.into_bytes() });
    }

    fn set_stage(&mut self, rank: u32, stage: Stage) {
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.stage = stage;
        }
    }

    fn init(&mut self, rank: u32, version: u32, subversion: u32) -> String {
        if version != 1 {
            return reply::failure("response_to_init", "this server speaks PMI 1 alone");
        }
        let subversion = subversion.min(reply::SUBVERSION_MAX);
        self.set_stage(rank, Stage::Running);
        if let Some((&awaits, _)) = self.ranks.iter().find(|(_, state)| state.is_absent) {
            self.actions.push_back(Action::Stuck { rank, awaits });
        }
        reply::init(subversion)
    }

    fn put(&mut self, rank: u32, space: &str, key: String, value: String) -> Result<String, String> {
        if space != self.shape.name {
            return Ok(reply::failure("put_result", "unknown kvsname"));
        }
        if let Err(why) = space::check(&key, &value) {
            return Ok(reply::failure("put_result", &why));
        }
        if let Some(state) = self.ranks.get_mut(&rank) {
            state.count_put(key.len() + value.len(), &self.limits)?;
        }
        self.space.put(key, value);
        Ok(reply::put())
    }

    fn get(&self, space: &str, key: &str) -> Option<&str> {
        match key {
            _ if space != self.shape.name => None,
            "PMI_process_mapping" => self.mapping.as_deref(),
            key => self.space.get(key),
        }
    }
}

/// The first word of a request, for a message.
fn name_of(text: &str) -> &str {
    text.split([' ', '\n']).next().unwrap_or(text)
}
