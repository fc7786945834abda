//! What the tests share: jobs, and running them to their ends with all that they said.
#![allow(dead_code)] // Every test program uses its own part.

pub mod mpi;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    time::{Duration, Instant},
};
use tasuki_pmi::{Joint, Limits};
use tasuki_shepherd::{
    Command, End, Event, JobSpec, OwnerEnd, Pmi, Program, RankSpec, Residence, Shepherd, ShepherdError,
    State, Stream,
};

/// Much longer than anything takes; it keeps a hang from stopping the tests.
pub const LIMIT: Duration = Duration::from_secs(120);

/// The command that is the shepherd process.
pub fn shepherd() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_tasuki-shepherd").into()]
}

/// A name that no other test of this machine uses.
pub fn unique(stem: &str) -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("test-{stem}-{}-{number}", std::process::id())
}

/// A job of some ranks that run a shell script.
pub fn script(stem: &str, ranks: u32, script: &str) -> JobSpec {
    let argv = ["/bin/sh", "-c", script].iter().map(OsString::from).collect();
    let number = |rank: u32| ("RANK".into(), rank.to_string().into());
    JobSpec {
        id: unique(stem),
        program: Program { argv, env: vec![path()], folder: "/".into(), umask: None },
        ranks: (0..ranks).map(|rank| RankSpec { rank, env: vec![number(rank)], cores: Vec::new() }).collect(),
        user: None,
        pmi: None,
        owner: OwnerEnd::Kill,
        cgroup: None,
    }
}

fn path() -> (OsString, OsString) {
    ("PATH".into(), std::env::var_os("PATH").expect("PATH"))
}

/// A job that runs, and what it has said so far.
pub struct Job {
    /// Its shepherd.
    pub shepherd: Shepherd,
    /// Everything that was told, but output.
    pub events: Vec<Event>,
    /// What each rank has written.
    pub written: BTreeMap<(u32, Stream), Vec<u8>>,
    /// How ranks have ended.
    pub ends: BTreeMap<u32, End>,
}

impl Job {
    /// Starts a job.
    pub fn start(spec: &JobSpec) -> Self {
        Self::with(Shepherd::start(&shepherd(), spec).expect("a shepherd starts"))
    }

    /// A job with this shepherd.
    pub fn with(shepherd: Shepherd) -> Self {
        Self { shepherd, events: Vec::new(), written: BTreeMap::new(), ends: BTreeMap::new() }
    }

    /// Starts a job, and waits until its ranks run.
    pub fn started(spec: &JobSpec) -> (Self, State) {
        let mut job = Self::start(spec);
        let Event::Started(state) = job.until(|event| matches!(event, Event::Started(_))) else {
            unreachable!("it was looked for")
        };
        (job, state)
    }

    /// Takes one event; `None`: nothing came in time.
    pub fn step(&mut self, wait: Duration) -> Result<Option<Event>, ShepherdError> {
        let event = self.shepherd.next(Some(wait))?;
        match &event {
            Some(Event::Output { rank, stream, bytes, .. }) => {
                self.written.entry((*rank, *stream)).or_default().extend_from_slice(bytes);
            }
            Some(Event::RankEnded { rank, end }) => {
                self.ends.insert(*rank, *end);
                self.events.extend(event.clone());
            }
            Some(other) => self.events.push(other.clone()),
            None => {}
        }
        Ok(event)
    }

    /// Waits for an event.
    pub fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            match self.step(Duration::from_secs(1)) {
                Ok(Some(event)) if wanted(&event) => return event,
                Ok(_) => {}
                Err(error) => panic!("{error}: {}", self.said()),
            }
        }
        panic!("it did not come: {}", self.said())
    }

    /// Waits until a rank has written something.
    pub fn until_written(&mut self, rank: u32, text: &str) {
        while !self.out(rank).contains(text) {
            self.until(|event| matches!(event, Event::Output { .. }));
        }
    }

    /// Waits for the end of everything. Returns how many processes were left behind.
    pub fn run_out(&mut self) -> u32 {
        match self.until(|event| matches!(event, Event::Ended { .. })) {
            Event::Ended { swept } => swept,
            _ => unreachable!("it was looked for"),
        }
    }

    /// Sends a command.
    pub fn send(&self, command: Command) {
        self.shepherd.send(&command).expect("the shepherd listens");
    }

    /// What a rank wrote to its standard output.
    pub fn out(&self, rank: u32) -> String {
        self.text(rank, Stream::Out)
    }

    /// What a rank wrote to a stream.
    pub fn text(&self, rank: u32, stream: Stream) -> String {
        let bytes = self.written.get(&(rank, stream)).map(Vec::as_slice).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Everything, for a message.
    pub fn said(&self) -> String {
        let written: Vec<_> = self
            .written
            .iter()
            .map(|(who, text)| format!("{who:?}: {}", String::from_utf8_lossy(text)))
            .collect();
        format!("{:?}\n{}", self.events, written.join("\n"))
    }
}

/// Runs a job to its end.
pub fn run(spec: &JobSpec) -> Job {
    let mut job = Job::start(spec);
    job.run_out();
    job
}

/// Runs the parts of one job on several "hosts" to their ends, and joins their fences, as its daemons do.
/// A reason to end the job ends it everywhere, and is returned.
pub fn run_all(specs: &[JobSpec]) -> (Vec<Job>, Option<String>) {
    let shape = &specs[0].pmi.as_ref().expect("PMI").shape;
    let mut joint = Joint::new(shape, Limits::default()).expect("a shape");
    let mut jobs: Vec<Job> = specs.iter().map(Job::start).collect();
    let mut over = vec![false; jobs.len()];
    let mut reason = None;
    let end = Instant::now() + LIMIT;
    while over.contains(&false) {
        for index in 0..jobs.len() {
            let event = match jobs[index].step(Duration::from_millis(if over[index] { 0 } else { 1 })) {
                Ok(Some(event)) => event,
                Ok(None) => continue,
                Err(error) => panic!("{error}: {}", jobs[index].said()),
            };
            let why = match &event {
                Event::Ended { .. } => {
                    over[index] = true;
                    None
                }
                Event::Fence(part) => match joint.join(part.clone()) {
                    Ok(None) => None,
                    Ok(Some(out)) => {
                        // A host whose ranks have all ended hears nothing.
                        jobs.iter().for_each(|job| drop(job.shepherd.send(&Command::Fenced(out.clone()))));
                        None
                    }
                    Err(error) => Some(error.to_string()),
                },
                Event::Gone { rank } => joint.gone(*rank).err().map(|error| error.to_string()),
                Event::Abort { .. } | Event::Lost { .. } | Event::Refused { .. } | Event::Stuck { .. } => {
                    Some(format!("{event:?}"))
                }
                _ => None,
            };
            if let Some(why) = why.filter(|_| reason.is_none()) {
                reason = Some(why);
                jobs.iter().for_each(|job| {
                    // One that has ended already hears nothing.
                    let _ = job.shepherd.send(&Command::End { grace_ms: 0 });
                });
            }
        }
        let all: Vec<_> = jobs.iter().map(Job::said).collect();
        assert!(Instant::now() < end, "it hangs: {}", all.join("\n"));
    }
    (jobs, reason)
}

/// Gives a job PMI: its ranks are dealt to `hosts` hosts in blocks, and this is the part of one.
pub fn part(job: &JobSpec, host: u32, hosts: u32, ranks: u32) -> JobSpec {
    let hosts_of_ranks: Vec<u32> = (0..ranks).map(|rank| rank * hosts / ranks).collect();
    let shape = tasuki_pmi::JobShape { name: job.id.clone(), hosts_of_ranks, universe: ranks };
    let ranks = shape.ranks_of(host).into_iter();
    let ranks = ranks.map(|rank| RankSpec { rank, env: Vec::new(), cores: Vec::new() }).collect();
    JobSpec { ranks, pmi: Some(Pmi { shape, host }), ..job.clone() }
}

/// Processes of a job that are there, zombies aside.
pub fn processes(id: &str) -> Vec<String> {
    let wanted = format!("{}={id}", tasuki_shepherd::JOB_ID);
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let carries = |pid: &String| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    names.filter(|name| name.parse::<u32>().is_ok()).filter(carries).collect()
}

/// Demands that nothing of a job is left: no process, no cgroup.
pub fn assert_nothing_left(id: &str, residence: &Residence) {
    assert_eq!(processes(id), Vec::<String>::new());
    if let Residence::V2(folder) | Residence::V1Freezer(folder) = residence {
        assert!(!folder.exists(), "{} stays", folder.display());
    }
}

/// The job without any cgroup: a folder that is in no cgroup hierarchy.
pub fn without_cgroup(job: JobSpec) -> JobSpec {
    JobSpec { cgroup: Some(std::env::temp_dir()), ..job }
}

/// A job of some ranks, once held together by a cgroup (where the machine has one) and once without.
pub fn both(stem: &str, ranks: u32, text: &str) -> [JobSpec; 2] {
    [script(stem, ranks, text), without_cgroup(script(stem, ranks, text))]
}
