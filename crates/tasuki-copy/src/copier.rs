//! The orders of a copy: what hosts lack, the folders, the chain, and the end.

use crate::{
    CopyError, chain, feed,
    protocol::{AGENT_COMMAND, Answer, Hop, Kept, Order},
    select::{LIBRARIES, Source, WORK, Wanted, check_places, libraries, named, place, program_of, source},
    sum::{self, Key, Sum},
};
use std::{
    ffi::OsString,
    net::{Ipv4Addr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};
use tasuki_cluster::{AddressPlan, HostId};
use tasuki_fleet::{Agents, Fleet, Task};
use tasuki_launch::Library;

/// How long hosts may take to answer what needs no waiting; logging in is part of the first answer.
const ANSWER: Duration = Duration::from_secs(60);
/// How long the last host may take once this machine has given the last byte away: what lies in sockets
/// between hosts has to pass the slowest cable, and a dead connection has to be noticed.
const DRAIN: Duration = Duration::from_secs(180);

/// Told how many bytes of how many are sent.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// Sends the files of a job to all hosts of a fleet.
pub struct Copier<'a> {
    fleet: &'a Fleet,
    agents: Agents,
    key: Key,
    /// All hosts, in the order in which they pass files on.
    chain: Vec<usize>,
    /// The identity address of every host, in the order of the fleet.
    addresses: Vec<Ipv4Addr>,
}

/// A job's files on all hosts. They go with this value, on each host at the latest when this process ends.
pub struct Copied {
    agents: Agents,
    names: Vec<String>,
    /// The command, with the paths that files have on hosts.
    pub argv: Vec<OsString>,
    /// The working folder of the ranks, with the named files in it.
    pub folder: PathBuf,
    /// The folder with libraries that hosts lacked; `None`: they lacked none.
    pub libraries: Option<PathBuf>,
    /// Number of files that were sent.
    pub files: usize,
    /// Bytes that were sent to each host.
    pub bytes: u64,
}

/// What a program has left in its working folder on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The host.
    pub host: String,
    /// Where it is.
    pub folder: String,
    /// The files, below that folder.
    pub files: Vec<String>,
}

impl<'a> Copier<'a> {
    /// Starts an agent on every host: [`crate::agent::run`] on the standard input and output of the host's
    /// [`AGENT_COMMAND`].
    ///
    /// # Errors
    /// If the fleet has no cluster, or that no plan of addresses.
    pub fn new(fleet: &'a Fleet) -> Result<Self, CopyError> {
        let cluster = fleet.cluster().ok_or(CopyError::NoCluster)?;
        let addresses = AddressPlan::new(cluster)?.hosts.iter().map(|host| host.identity).collect();
        // Contents that are on this machine need no way to another host first, if this is one of the hosts.
        let first = (0..fleet.len()).find(|&host| fleet.is_here(host)).unwrap_or(0);
        let chain = chain(cluster, HostId(first)).into_iter().map(|host| host.0).collect();
        let mut key = [0; 16];
        getrandom::fill(&mut key)?;
        // In a lab, what is not lasting is killed with this process, and could not remove its folder.
        let agents = Agents::start_apart(fleet, &Task::tasuki([AGENT_COMMAND]).lasting());
        Ok(Self { fleet, agents, key: Key(key), chain, addresses })
    }

    /// Sends what is wanted to all hosts, and waits until all have it.
    ///
    /// # Errors
    /// If a file of this machine cannot be read, hosts lack the MPI, or a host cannot receive; then nothing
    /// is left on any host that answers.
    pub fn send(mut self, wanted: Wanted<'_>, progress: Progress<'_>) -> Result<Copied, CopyError> {
        let (sources, program, has_libraries) = self.select(&wanted)?;
        let bytes = sources.iter().map(|source| source.item.bytes).sum();
        let mut job = [0; 16];
        getrandom::fill(&mut job)?;
        let job = format!("{:032x}", u128::from_be_bytes(job));
        let ports = self.open(&job, bytes)?;
        self.pass(&sources, &ports, bytes, progress)?;
        let folder = Path::new("/tmp").join(format!("tasuki-job-{job}"));
        let work = folder.join(WORK);
        let mut argv = wanted.argv.to_vec();
        for (number, word) in argv.iter_mut().enumerate() {
            let is_named = wanted.files.iter().any(|file| file.as_os_str() == word);
            if program == Some(number) || is_named {
                *word = work.join(place(Path::new(word))).into_os_string();
            }
        }
        let names = (0..self.fleet.len()).map(|host| self.fleet.name(host)).collect();
        let libraries = has_libraries.then(|| folder.join(LIBRARIES));
        Ok(Copied { agents: self.agents, names, argv, folder: work, libraries, files: sources.len(), bytes })
    }

    /// The files to send, which argument is the program, and whether there are libraries among them.
    fn select(&mut self, wanted: &Wanted<'_>) -> Result<(Vec<Source>, Option<usize>, bool), CopyError> {
        let first = Path::new(wanted.argv.first().map(OsString::as_os_str).unwrap_or_default());
        let own = sum::of_file(first, self.key)
            .and_then(|sum| Ok((first.metadata()?.len(), sum)))
            .map_err(|source| CopyError::File { path: first.into(), source })?;
        let all = libraries(first, wanted.env)?;
        let mut needed: Vec<&Path> = all.iter().map(|library| library.path.as_path()).collect();
        needed.push(wanted.needed.path());
        let (have_first, mut missing) = self.look(first, own, &needed)?;
        let without = missing.pop().unwrap_or_default();
        if !without.is_empty() {
            return Err(wanted.needed.missing(without.join(", ")));
        }
        let program = program_of(wanted.argv, have_first);
        let mut lacking: Vec<Library> = Vec::new();
        match program {
            // The program's libraries are those that were asked for.
            Some(0) => lacking.extend(lacked(all, &missing)),
            Some(other) => {
                let path = Path::new(&wanted.argv[other]);
                let all = libraries(path, wanted.env)?;
                let needed: Vec<&Path> = all.iter().map(|library| library.path.as_path()).collect();
                let (_, missing) = self.look(first, own, &needed)?;
                lacking.extend(lacked(all, &missing));
            }
            None => {}
        }
        let mut sources = Vec::new();
        for library in &lacking {
            sources.push(source(&library.path, LIBRARIES, Path::new(&library.name))?);
        }
        if let Some(program) = program {
            let path = Path::new(&wanted.argv[program]);
            sources.push(source(path, WORK, &place(path))?);
        }
        for file in wanted.files {
            named(file, &place(file), &mut sources)?;
        }
        check_places(&mut sources)?;
        Ok((sources, program, !lacking.is_empty()))
    }

    /// Whether all hosts have the same file at `path`, and, for each of `needed`, the hosts that lack it.
    fn look(
        &mut self,
        path: &Path,
        own: (u64, Sum),
        needed: &[&Path],
    ) -> Result<(bool, Vec<Vec<String>>), CopyError> {
        let text =
            |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| CopyError::NotText(path.into()));
        let order = Order::Look {
            key: self.key,
            compared: vec![text(path)?],
            needed: needed.iter().map(|path| text(path)).collect::<Result<_, _>>()?,
        };
        let answers = self.agents.tell(ANSWER, |_| Some(order.clone()));
        let mut all_have = true;
        let mut lacking = vec![Vec::new(); needed.len()];
        for (host, answer) in self.answers(answers)?.into_iter().enumerate() {
            let Answer::Sight { compared, missing } = answer else { return Err(self.odd(host)) };
            all_have &= compared.first() == Some(&Some(own));
            for number in missing {
                let list = lacking.get_mut(number).ok_or_else(|| self.odd(host))?;
                list.push(self.fleet.name(host));
            }
        }
        Ok((all_have, lacking))
    }

    /// Has every host make its folder and listen. Returns the port of each.
    fn open(&mut self, job: &str, bytes: u64) -> Result<Vec<Option<u16>>, CopyError> {
        let first = self.chain[0];
        let addresses = &self.addresses;
        let answers = self.agents.tell(ANSWER, |host| {
            let listen = (host != first).then(|| addresses[host]);
            Some(Order::Open { job: job.into(), bytes, listen })
        });
        let answers = self.answers(answers)?.into_iter().enumerate();
        let port = |(host, answer)| match answer {
            Answer::Open { port } if port.is_some() || host == first => Ok(port),
            _ => Err(self.odd(host)),
        };
        answers.map(port).collect()
    }

    /// Sends the contents down the chain, and compares what every host has with what was sent.
    fn pass(
        &mut self,
        sources: &[Source],
        ports: &[Option<u16>],
        bytes: u64,
        progress: Progress<'_>,
    ) -> Result<(), CopyError> {
        let items: Vec<_> = sources.iter().map(|source| source.item.clone()).collect();
        let chain = self.chain.clone();
        let hop = |host: usize| {
            let at = chain.iter().position(|&other| other == host)?;
            let next = *chain.get(at + 1)?;
            let address = SocketAddrV4::new(self.addresses[next], ports[next]?);
            Some(Hop { host: self.fleet.name(next), address })
        };
        let (key, mut fed) = (self.key, Ok(Vec::new()));
        let order = |host| Some(Order::Pass { items: items.clone(), key, next: hop(host) });
        let answers = self.agents.tell_feeding(DRAIN, order, chain[0], |input| {
            fed = feed::feed(sources, key, input, &mut |done| progress(done, bytes));
            fed.as_ref().is_ok_and(|sums| sums.len() == sources.len())
        });
        // Of a host that failed its own answer says more than that it takes no more.
        let answers = self.answers(answers);
        let own = fed?;
        for (host, answer) in answers?.into_iter().enumerate() {
            let Answer::Passed(sums) = answer else { return Err(self.odd(host)) };
            let wrong = sources.iter().zip(&own).zip(&sums).find(|((_, own), sum)| own != sum);
            if let Some(((source, _), _)) = wrong {
                return Err(CopyError::Hosts(format!(
                    "{}: {} arrived damaged; `tasuki check` finds the part at fault",
                    self.fleet.name(host),
                    source.path.display()
                )));
            }
        }
        Ok(())
    }

    /// The answers of all hosts; the error names those that failed. Where one host's failure is what follows
    /// from another's, only the other is named.
    fn answers(&self, answers: Vec<Option<Result<Answer, String>>>) -> Result<Vec<Answer>, CopyError> {
        let (mut all, mut causes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (host, answer) in answers.into_iter().enumerate() {
            let name = self.fleet.name(host);
            match answer {
                Some(Ok(Answer::Failed { why, remedy, follows })) => {
                    let remedy = remedy.map(|remedy| format!("; {remedy}")).unwrap_or_default();
                    let list = if follows { &mut rest } else { &mut causes };
                    list.push(format!("{name}: {why}{remedy}"));
                }
                Some(Ok(answer)) => all.push(answer),
                Some(Err(why)) => causes.push(format!("{name}: {why}")),
                None => causes.push(format!("{name}: it was not asked")),
            }
        }
        let said = if causes.is_empty() { rest } else { causes };
        if said.is_empty() { Ok(all) } else { Err(CopyError::Hosts(said.join("\n"))) }
    }

    fn odd(&self, host: usize) -> CopyError {
        let name = self.fleet.name(host);
        CopyError::Hosts(format!("{name}: it answers oddly; is its tasuki of another version?"))
    }
}

impl Copied {
    /// Removes the job's folder on all hosts. Returns what the program has left in its working folder, and
    /// for hosts that do not say that they have removed it, why.
    pub fn end(mut self) -> (Vec<Left>, Vec<String>) {
        let (mut left, mut failed) = (Vec::new(), Vec::new());
        let answers = self.agents.tell::<_, Answer>(ANSWER, |_| Some(Order::End));
        for (name, answer) in self.names.iter().zip(answers.into_iter().flatten()) {
            match answer {
                Ok(Answer::Ended(None)) => {}
                Ok(Answer::Ended(Some(Kept { folder, files }))) => {
                    left.push(Left { host: name.clone(), folder, files });
                }
                Ok(Answer::Failed { why, .. }) | Err(why) => failed.push(format!("{name}: {why}")),
                Ok(_) => failed.push(format!("{name}: it answers oddly")),
            }
        }
        (left, failed)
    }
}

/// The libraries that a host lacks; `missing` has the hosts for each.
fn lacked(all: Vec<Library>, missing: &[Vec<String>]) -> impl Iterator<Item = Library> {
    all.into_iter().zip(missing).filter(|(_, hosts)| !hosts.is_empty()).map(|(library, _)| library)
}
