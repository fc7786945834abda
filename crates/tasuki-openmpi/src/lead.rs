//! The first host: `mpirun`, and the daemons' commands that its agents bring.

use crate::{
    AGENT_COMMAND, Layout,
    door::{self, Door, Wanted},
    error::OpenMpiError,
    host,
    pmi::Pmi,
    spread,
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    io,
    process::Child,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

/// How long after one agent the next may come. `mpirun` starts all of them at once; if it takes two of the
/// job's hosts for one machine, it wants fewer daemons than there are hosts.
const NEXT: Duration = Duration::from_secs(3);

/// What happens while the daemons are being started.
enum News {
    Wanted(Wanted),
    /// `mpirun` has ended, with this code.
    Ended(u8),
}

/// Runs `mpirun` for the hosts of the job, and gives its exit code.
pub fn lead(layout: &Layout, argv: &[OsString]) -> Result<u8, OpenMpiError> {
    let [program, options @ ..] = argv else { return Err(OpenMpiError::Empty) };
    let mut mpirun = host::command(program);
    mpirun.arg("--host").arg(layout.to_string()).args(options);
    let door = (layout.0.len() > 1).then(Door::open).transpose()?;
    if let Some(door) = &door {
        let agent = agent()?;
        mpirun.env("OMPI_MCA_plm_rsh_agent", &agent).env("PRTE_MCA_plm_ssh_agent", &agent);
        mpirun.env(door::VARIABLE, door.path());
    }
    let started = mpirun.spawn();
    let child = started.map_err(|source| OpenMpiError::Start { program: program.into(), source })?;
    let (tell, news) = channel();
    watch(child, tell.clone());
    let Some(door) = door else { return last(&news) };
    receive(&door, layout, tell).map_err(OpenMpiError::while_doing("listen to mpirun's agents"))?;
    let mut pmi = Pmi::begin()?;
    let (wanted, ended) = gather(&news, layout.0.len() - 1);
    for place in 1..layout.0.len() {
        spread::put(&mut pmi, place, wanted.get(&place).map(|one| one.command.as_slice()))?;
    }
    pmi.fence()?;
    pmi.finalize()?;
    wanted.into_values().for_each(Wanted::taken);
    // Agents that come now find no door.
    drop(door);
    ended.map_or_else(|| last(&news), Ok)
}

/// The command that `mpirun` calls in the place of ssh.
fn agent() -> Result<String, OpenMpiError> {
    let path = std::env::current_exe().map_err(OpenMpiError::while_doing("find this program"))?;
    match path.to_str().filter(|path| !path.contains(|c: char| c.is_whitespace() || "\"'\\".contains(c))) {
        Some(path) => Ok(format!("{path} {AGENT_COMMAND}")),
        None => Err(OpenMpiError::Path(path)),
    }
}

/// Tells of the end of `mpirun`.
fn watch(mut child: Child, tell: Sender<News>) {
    thread::spawn(move || {
        let code = child.wait().map_or(1, host::code);
        // Nobody is told if this process ends first.
        let _ = tell.send(News::Ended(code));
    });
}

/// Takes the orders of agents.
fn receive(door: &Door, layout: &Layout, tell: Sender<News>) -> io::Result<()> {
    let (listener, layout) = (door.listener()?, layout.clone());
    thread::spawn(move || {
        let orders = listener.incoming().map_while(Result::ok);
        orders
            .filter_map(|agent| door::take(agent, &layout))
            .all(|order| tell.send(News::Wanted(order)).is_ok())
    });
    Ok(())
}

/// Waits for the orders of so many agents, by the places of hosts, and for the end of `mpirun`, if that comes
/// before them.
fn gather(news: &Receiver<News>, hosts: usize) -> (BTreeMap<usize, Wanted>, Option<u8>) {
    let mut wanted = BTreeMap::new();
    while wanted.len() < hosts {
        let next = match wanted.is_empty() {
            true => news.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => news.recv_timeout(NEXT),
        };
        match next {
            Ok(News::Wanted(order)) => drop(wanted.insert(order.place, order)),
            Ok(News::Ended(code)) => return (wanted, Some(code)),
            Err(_) => break,
        }
    }
    (wanted, None)
}

/// Waits for the end of `mpirun`. Agents that come meanwhile are not answered, and fail.
fn last(news: &Receiver<News>) -> Result<u8, OpenMpiError> {
    loop {
        match news.recv() {
            Ok(News::Ended(code)) => return Ok(code),
            Ok(News::Wanted(late)) => drop(late),
            Err(_) => return Ok(1),
        }
    }
}
