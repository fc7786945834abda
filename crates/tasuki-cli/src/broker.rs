//! `tasuki broker`: raw lanes for programs without privileges.

use nix::unistd::{Group, User};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::{
    os::{fd::AsFd, unix::net::UnixStream},
    process::ExitCode,
};
use tasuki_args::BrokerArgs;
use tasuki_broker::{Limits, Listener, Nics, Options, guard, serve};
use tasuki_cluster::RailTable;
use tasuki_terminal::Failure;

/// Runs the command.
pub fn run(arguments: &BrokerArgs) -> Result<ExitCode, Failure> {
    if let Some(user) = &arguments.print_guard {
        let of_cluster = nics_now(arguments)?;
        print!("{}", guard(user_id(user)?, |nic| of_cluster.iter().any(|name| name == nic))?);
        return Ok(ExitCode::SUCCESS);
    }
    let options = options(arguments)?;
    let listener = match Listener::from_systemd()? {
        Some(listener) => listener,
        None => {
            let listener = Listener::bind(&arguments.socket, options.group)?;
            eprintln!(
                "tasuki broker: listens on {} for root and members of {}",
                arguments.socket.display(),
                arguments.group
            );
            listener
        }
    };
    let (stop, signalled) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    serve(&listener, &options, stop.as_fd())?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &BrokerArgs) -> Result<Options, Failure> {
    let bytes = |mebibytes: u32| u64::from(mebibytes) << 20;
    let nics = if arguments.nics.is_empty() {
        Nics::OfRails(arguments.rails.clone())
    } else {
        Nics::Named(arguments.nics.iter().cloned().collect())
    };
    nics.absent().iter().for_each(|nic| eprintln!("tasuki broker: there is no NIC {nic} now"));
    Ok(Options {
        group: group_id(&arguments.group)?,
        nics,
        limits: Limits {
            host_bytes: bytes(arguments.memory),
            user_bytes: bytes(arguments.user_memory),
            host_lanes: arguments.lanes as usize,
            user_lanes: arguments.user_lanes as usize,
        },
        bypass: !arguments.guarded,
    })
}

fn group_id(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let group = Group::from_name(name)?.ok_or_else(|| {
        Failure::new(format!(
            "there is no group {name}: groupadd --system {name}, or choose another with --group"
        ))
    })?;
    Ok(group.gid.as_raw())
}

fn user_id(name: &str) -> Result<u32, Failure> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    let user = User::from_name(name)?.ok_or_else(|| Failure::new(format!("there is no user {name}")))?;
    Ok(user.uid.as_raw())
}

/// The NICs for which lanes are given, as the arguments and the table of rails have them now.
fn nics_now(arguments: &BrokerArgs) -> Result<Vec<String>, Failure> {
    if !arguments.nics.is_empty() {
        return Ok(arguments.nics.clone());
    }
    let table = RailTable::load(&arguments.rails)?;
    Ok(table.rails().map(|rail| rail.nic.clone()).collect())
}
