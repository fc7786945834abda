//! Asking all switches of a cluster at once.

use crate::{SwitchError, SwitchSample, agent::Agent, interfaces};
use std::{
    fs::File,
    io::{self, Read},
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};
use tasuki_cluster::{Cluster, End, InterfaceNames, SwitchAgent};
use tasuki_fleet::Fleet;

/// How long a switch may take for all that it is asked.
const SWITCH_LIMIT: Duration = Duration::from_secs(5);
/// How long its name may take beyond that, until it is known.
const NAME_LIMIT: Duration = Duration::from_secs(2);
/// The community of a switch for which the file names none.
const USUAL_COMMUNITY: &str = "public";
/// Longest community, bytes.
const COMMUNITY_MAX: usize = 255;

/// The switches of a cluster that answer SNMP.
#[derive(Clone, Debug, Default)]
pub struct Switches(Vec<Target>);

/// What a switch answers.
#[derive(Clone, Debug)]
pub struct SwitchAnswer {
    /// The switch's name.
    pub switch: String,
    /// What its ports count, or why that is not known.
    pub answer: Result<SwitchSample, SwitchError>,
}

impl SwitchAnswer {
    /// What is wrong, a line each, with the switch's name.
    pub fn problems(&self) -> Vec<String> {
        let problems = match &self.answer {
            Ok(sample) => sample.problems.clone(),
            Err(error) => vec![error.to_string()],
        };
        problems.into_iter().map(|problem| format!("{}: {problem}", self.switch)).collect()
    }
}

/// A switch that is to be asked.
#[derive(Clone, Debug)]
struct Target {
    switch: String,
    address: String,
    host: String,
    port: u16,
    community_file: Option<PathBuf>,
    names: Option<InterfaceNames>,
    /// Ports with a cable.
    ports: Vec<u32>,
}

impl Switches {
    /// The switches of a cluster file that have `management`.
    pub fn of(cluster: &Cluster) -> Self {
        let ports = |number: usize| {
            let ends = cluster.cables.iter().flat_map(|cable| cable.ends);
            let mut ports: Vec<u32> = ends
                .filter_map(|end| match end {
                    End::Port { switch, port } if switch.0 == number => Some(port),
                    _ => None,
                })
                .collect();
            ports.sort_unstable();
            ports
        };
        let folder = cluster.source.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let target = |(number, agent): (usize, &SwitchAgent)| Target {
            switch: cluster.switches[number].name.clone(),
            address: agent.address.to_string(),
            host: agent.address.host().into(),
            port: agent.address.port(),
            community_file: agent.community_file.as_ref().map(|file| folder.join(file)),
            names: agent.interfaces.clone(),
            ports: ports(number),
        };
        let agents = cluster.switches.iter().enumerate();
        Self(
            agents
                .filter_map(|(number, switch)| Some((number, switch.agent.as_ref()?)))
                .map(target)
                .collect(),
        )
    }

    /// The switches of a fleet's cluster. In a lab they are only those whose agent is on this machine: the
    /// others are real switches, which know nothing of its cables.
    pub fn of_fleet(fleet: &Fleet) -> Self {
        let all = fleet.cluster().map(Self::of).unwrap_or_default();
        if matches!(fleet, Fleet::Lab(_)) { all.on_this_machine() } else { all }
    }

    fn on_this_machine(mut self) -> Self {
        let is_here = |host: &str| {
            host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        };
        self.0.retain(|target| is_here(&target.host));
        self
    }

    /// Keeps those that have answered.
    pub fn keep_answering(&mut self, answers: &[SwitchAnswer]) {
        let has_answered = |target: &Target| {
            answers.iter().any(|answer| answer.switch == target.switch && answer.answer.is_ok())
        };
        self.0.retain(has_answered);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Asks all at once. That takes seconds at most, whatever switches and resolvers do.
    pub fn ask(&self) -> Vec<SwitchAnswer> {
        let (tell, told) = mpsc::channel();
        for (number, target) in self.0.iter().cloned().enumerate() {
            let tell = tell.clone();
            // A thread that a resolver holds up is left behind; it ends with the resolver's own time limit.
            thread::spawn(move || tell.send((number, target.ask())));
        }
        drop(tell);
        let end = Instant::now() + SWITCH_LIMIT + NAME_LIMIT;
        let mut answers: Vec<Option<Result<SwitchSample, SwitchError>>> = vec![None; self.0.len()];
        while let Ok((number, answer)) = told.recv_timeout(end.saturating_duration_since(Instant::now())) {
            answers[number] = Some(answer);
        }
        let none = |target: &Target| SwitchError::Silent { address: target.address.clone() };
        let both = self.0.iter().zip(answers);
        let answer = |(target, answer): (&Target, Option<_>)| SwitchAnswer {
            switch: target.switch.clone(),
            answer: answer.unwrap_or_else(|| Err(none(target))),
        };
        both.map(answer).collect()
    }
}

impl Target {
    fn ask(&self) -> Result<SwitchSample, SwitchError> {
        let community = match &self.community_file {
            Some(file) => {
                let cannot = |why: String| SwitchError::Community { file: file.clone(), why };
                community(file).map_err(cannot)?
            }
            None => USUAL_COMMUNITY.into(),
        };
        let place = self.place()?;
        let mut agent = Agent::new(place, self.address.clone(), community.into_bytes(), SWITCH_LIMIT);
        interfaces::sample(&mut agent, &self.ports, self.names.as_ref())
    }

    fn place(&self) -> Result<SocketAddr, SwitchError> {
        let cannot = |why: String| SwitchError::Address { address: self.address.clone(), why };
        let mut places =
            (self.host.as_str(), self.port).to_socket_addrs().map_err(|error| cannot(error.to_string()))?;
        places.next().ok_or_else(|| cannot("it has no address".into()))
    }
}

/// The community in the first line of a file, which others must not be able to read. A link may lead
/// anywhere.
fn community(file: &Path) -> Result<String, String> {
    let failed = |error: io::Error| error.to_string();
    if file.symlink_metadata().map_err(failed)?.is_symlink() {
        return Err("it is a link".into());
    }
    let opened = File::open(file).map_err(failed)?;
    let data = opened.metadata().map_err(failed)?;
    if !data.is_file() {
        return Err("it is no file".into());
    }
    if data.permissions().mode() & 0o004 != 0 {
        return Err(format!("every user may read it: chmod 600 {}", file.display()));
    }
    let mut text = String::new();
    opened.take(COMMUNITY_MAX as u64 + 3).read_to_string(&mut text).map_err(failed)?;
    match text.lines().next() {
        None | Some("") => Err("its first line is empty".into()),
        Some(line) if line.len() > COMMUNITY_MAX => {
            Err(format!("its first line has over {COMMUNITY_MAX} bytes"))
        }
        Some(line) => Ok(line.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, fs::Permissions};

    #[test]
    fn a_community_is_a_line_that_others_cannot_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("community");
        let with = |text: &str, mode: u32| {
            fs::write(&file, text).expect("writes");
            fs::set_permissions(&file, Permissions::from_mode(mode)).expect("sets");
            community(&file)
        };
        assert_eq!(with("s3cret\n", 0o600), Ok("s3cret".into()));
        assert_eq!(with("s3cret\r\nmore", 0o640), Ok("s3cret".into()));
        assert!(with("s3cret\n", 0o644).expect_err("readable").contains("chmod 600"));
        for text in ["", "\n", "\ns3cret", &"a".repeat(256), &"a\u{e4}".repeat(200)] {
            assert!(with(text, 0o600).is_err(), "{text:?}");
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&file, &link).expect("links");
        assert_eq!(with("s3cret\n", 0o600).and_then(|_| community(&link)), Err("it is a link".into()));
        assert!(community(folder.path()).is_err());
        assert!(community(&folder.path().join("none")).is_err());
    }
}
