//! Shows what this crate finds and would run.
//!
//! ```text
//! launch installed [PEERS]
//! launch detect [--mpi NAME] PROGRAM [ARGUMENT...]
//! launch command [--mpi NAME] -n RANKS --hosts n1:2,n2:2 [--agent PATH] [--interface NAME]
//!     PROGRAM [ARGUMENT...]
//! launch probe LIBRARY
//! ```

use std::{env, error::Error, ffi::OsString, path::Path, process::ExitCode};
use tasuki_launch::{
    Binding, Detector, Environment, Facts, Job, JobHost, Management, Placement, Transport, probe_main,
};

/// Folder in which `scripts/peers` installs.
const PEERS: &str = "target/peers";

#[derive(Default)]
struct Options {
    mpi: Option<String>,
    ranks: u32,
    hosts: Vec<JobHost>,
    agent: Option<String>,
    management: Option<Management>,
    interface: String,
    folder: Option<OsString>,
    oversubscribed: bool,
    program: Vec<OsString>,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    match words.split_first() {
        Some((verb, [library])) if verb == "probe" => ExitCode::from(probe_main(library) as u8),
        Some((verb, rest)) => match act(&verb.to_string_lossy(), rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        },
        None => ExitCode::from(2),
    }
}

fn act(verb: &str, rest: &[OsString]) -> Result<(), Box<dyn Error>> {
    let env: Environment = env::vars_os().collect();
    let probe: [OsString; 2] = [env::current_exe()?.into(), "probe".into()];
    let options = parse(rest)?;
    let detector =
        Detector { env: &env, probe: &probe, peers: Some(Path::new(PEERS)), choice: options.mpi.as_deref() };
    if verb == "installed" {
        for mpi in detector.installed() {
            println!("{:20} {} {}", mpi.id(), mpi.launcher.display(), mpi.library.display());
        }
        return Ok(());
    }
    let detected = detector.detect(&options.program)?;
    if verb == "detect" {
        println!("{} {} {:?}", detected.mpi.id(), detected.mpi.library.display(), detected.env);
        return Ok(());
    }
    let facts = Facts {
        identity_interface: options.interface,
        management: options.management,
        agent: options.agent,
        hosts: options.hosts.len(),
        oversubscribed: options.oversubscribed,
        binding: Binding::None,
    };
    let job = Job {
        ranks: options.ranks,
        argv: detected.argv,
        hosts: options.hosts,
        placement: Placement::ByNode,
        transport: Transport::Tcp,
        facts,
        as_root: true,
        env: detected.env,
        folder: options.folder.map(Into::into),
    };
    println!("{}", job.command(&detected.mpi)?.to_shell());
    Ok(())
}

fn parse(words: &[OsString]) -> Result<Options, Box<dyn Error>> {
    let mut options = Options { ranks: 1, interface: "tasuki0".into(), ..Options::default() };
    let mut words = words.iter();
    while let Some(word) = words.clone().next().filter(|word| word.to_string_lossy().starts_with('-')) {
        words.next();
        let mut value = || words.next().and_then(|word| word.to_str()).ok_or("an option lacks its value");
        match word.to_string_lossy().as_ref() {
            "--mpi" => options.mpi = Some(value()?.into()),
            "-n" => options.ranks = value()?.parse()?,
            "--agent" => options.agent = Some(value()?.into()),
            "--interface" => options.interface = value()?.into(),
            "--folder" => options.folder = Some(value()?.into()),
            "--yield" => options.oversubscribed = true,
            "--management" => options.management = Some(management(value()?)?),
            "--hosts" => options.hosts = value()?.split(',').map(host).collect::<Result<_, _>>()?,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    options.program = words.cloned().collect();
    Ok(options)
}

/// Reads `ADDRESS/PREFIX@INTERFACE`.
fn management(text: &str) -> Result<Management, Box<dyn Error>> {
    let (address, interface) = text.split_once('@').ok_or("--management takes ADDRESS/PREFIX@INTERFACE")?;
    let (address, prefix) = address.split_once('/').ok_or("--management takes ADDRESS/PREFIX@INTERFACE")?;
    let address = address.parse()?;
    let network = tasuki_cluster::Ipv4Net::around(address, prefix.parse()?);
    Ok(Management { network, address, interface: interface.into() })
}

fn host(text: &str) -> Result<JobHost, Box<dyn Error>> {
    let (name, slots) = text.split_once(':').unwrap_or((text, "1"));
    Ok(JobHost { name: name.into(), slots: slots.parse()? })
}
