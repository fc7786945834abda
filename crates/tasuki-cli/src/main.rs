//! The `tasuki` command.

// `print`, `println` and `eprintln` are those of tasuki-terminal in all modules: they write nothing that a
// terminal would obey.
#[macro_use]
extern crate tasuki_terminal;

mod apply;
mod bench;
mod broker;
mod check;
mod cluster;
mod copy;
mod daemon;
mod dashboard;
mod debug;
mod demo;
mod discover;
mod doctor;
mod fleet;
mod hang;
mod info;
mod install;
mod jobs;
mod lab;
mod metrics;
mod pages;
mod paper;
mod report;
mod run;
mod slurm;
mod stacks;
mod stats;
mod top;
mod topo;
mod trace;
mod tune;
mod up;
mod watch;

use nix::sys::signal::{SigHandler, Signal, signal};
use std::process::ExitCode;
use tasuki_args::{Command, InternalCommand, RestartArgs, Tasuki};
use tasuki_control::Request;
use tasuki_terminal::Failure;

fn main() -> ExitCode {
    // The root process of a lab is recognised before anything else happens in the process.
    let mut argv = std::env::args_os();
    let name = argv.next().unwrap_or_default();
    if argv.next().is_some_and(|argument| argument.as_encoded_bytes() == tasuki_lab::INIT_COMMAND.to_bytes())
    {
        return tasuki_lab::init_main();
    }
    // SAFETY: the default action installs no handler, and no other thread runs yet. With it, `tasuki ... |
    // head` ends quietly, as other commands do.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
    let result = if std::path::Path::new(&name).file_name().is_some_and(|name| name == "tasuki-agent") {
        lab::agent(std::env::args_os().skip(1).collect())
    } else {
        command(Tasuki::of_process())
    };
    tasuki_terminal::end(result)
}

fn command(tasuki: Tasuki) -> Result<ExitCode, Failure> {
    match tasuki.command {
        Command::Cluster(command) => cluster::run(command),
        Command::Apply(arguments) => apply::apply(&arguments),
        Command::Diff(arguments) => apply::diff(&arguments),
        Command::Undo(arguments) => apply::undo(&arguments),
        Command::Status(arguments) => apply::status(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Tune(command) => tune::run(command),
        Command::Check(arguments) => check::run(&arguments),
        Command::Discover(arguments) => discover::run(&arguments),
        Command::Install(arguments) => install::run(&arguments),
        Command::Up(arguments) => up::up(&arguments),
        Command::Down(arguments) => up::down(&arguments),
        Command::Lab(command) => lab::run(command),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Omp(arguments) => jobs::omp(&arguments),
        Command::Submit(arguments) => jobs::submit(&arguments),
        Command::Jobs(arguments) => jobs::jobs(&arguments),
        Command::Attach(arguments) => jobs::attach(&arguments),
        Command::Cancel(arguments) => jobs::change(&arguments, |job| Request::Cancel { job }),
        Command::Hold(arguments) => jobs::change(&arguments, |job| Request::Hold { job }),
        Command::Resume(arguments) => jobs::change(&arguments, |job| Request::Resume { job }),
        Command::Checkpoint(arguments) => jobs::change(&arguments, |job| Request::Checkpoint { job }),
        Command::Restart(RestartArgs { jobs, epoch }) => {
            jobs::change(&jobs, |job| Request::Restart { job, epoch })
        }
        Command::Hosts(arguments) => jobs::hosts(&arguments),
        Command::Daemon(arguments) => daemon::run(&arguments),
        Command::Env(arguments) => run::env(&arguments),
        Command::Slurm(command) => slurm::run(command),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Hang(arguments) => hang::run(&arguments),
        Command::Stacks(arguments) => stacks::run(&arguments),
        Command::Debug(arguments) => debug::run(&arguments),
        Command::Metrics(arguments) => metrics::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Dashboard(arguments) => dashboard::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Broker(arguments) => broker::run(&arguments),
        Command::Internal(command) => internal(command),
        Command::Bench(command) => bench::run(command),
        Command::Topo(command) => topo::run(command),
        Command::Paper(command) => paper::run(&command),
        Command::Plan(arguments) => topo::plan(&arguments),
    }
}

fn internal(command: InternalCommand) -> Result<ExitCode, Failure> {
    match command {
        InternalCommand::CheckAgent => check::agent(),
        InternalCommand::FirewallAgent => doctor::firewall_agent(),
        InternalCommand::DiscoverAgent => discover::agent(),
        InternalCommand::DiscoverGuard { nics } => discover::guard(&nics),
        InternalCommand::Shepherd => Ok(tasuki_shepherd::process_main()),
        InternalCommand::RanksAgent => Ok(tasuki_ranks::agent_main()),
        InternalCommand::Pages { folder } => pages::write(&folder),
        InternalCommand::StatsPages => stats::pages(),
        InternalCommand::LoadAgent => top::agent(),
        InternalCommand::StacksAgent => stacks::agent(),
        InternalCommand::DebugAgent => Ok(tasuki_debug::agent::main()),
        InternalCommand::DebugAlone { pid } => debug::alone(pid),
        InternalCommand::DoctorFacts => doctor::local_facts(),
        InternalCommand::JobFacts { paths } => run::local_facts(&paths),
        InternalCommand::TraceParts { folder } => trace::parts(&folder),
        InternalCommand::CopyAgent => copy::agent(),
        InternalCommand::CoresAgent => Ok(tasuki_cores::agent_main()),
        InternalCommand::LibfabricProbe { libraries } => {
            Ok(ExitCode::from(tasuki_launch::libfabric_probe_main(&libraries) as u8))
        }
        InternalCommand::OpenMpiHost { argv } => Ok(ExitCode::from(tasuki_openmpi::host_main(&argv))),
        InternalCommand::OpenMpiAgent { argv } => Ok(ExitCode::from(tasuki_openmpi::agent_main(&argv))),
        InternalCommand::NotifyUser { user } => {
            tasuki_notify::notify_main(&user).map(|()| ExitCode::SUCCESS).map_err(Failure::new)
        }
        InternalCommand::MpiProbe { library } => {
            Ok(ExitCode::from(tasuki_launch::probe_main(library.as_os_str()) as u8))
        }
        InternalCommand::RawPeer { specification } => bench::raw_peer(&specification),
        InternalCommand::LoadPeer { specification } => bench::load_peer(&specification),
        InternalCommand::LoadFollow { specification } => bench::load_follow(&specification),
        InternalCommand::BundleHere { specification } => bench::bundle_here(&specification),
    }
}
