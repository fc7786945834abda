//! Loading a driver again, so that it reads parameters that it reads only when it is loaded.

use crate::{TunerError, present_nics};
use nix::{ifaddrs::getifaddrs, net::if_::if_nametoindex};
use std::{
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};
use tasuki_host::{Delay, Report, Setup};

/// Time in which interfaces must come back after their driver was loaded again.
const RETURN_LIMIT: Duration = Duration::from_secs(30);

/// Refuses to load drivers again whose NICs have IPv4 addresses: these would go, and with them routes and
/// connections.
pub fn reload_check(setup: &Setup, drivers: &[String]) -> Result<(), TunerError> {
    for driver in drivers {
        let addresses =
            getifaddrs()?.filter(|own| own.address.is_some_and(|address| address.as_sockaddr_in().is_some()));
        let names: Vec<_> = addresses.map(|own| own.interface_name).collect();
        if let Some(interface) = setup.interfaces_of(driver).into_iter().find(|name| names.contains(name)) {
            return Err(TunerError::HasAddress { interface, driver: driver.clone() });
        }
    }
    Ok(())
}

/// Loads the drivers again if `now` is set and their parameters were changed, or notes in the report that it
/// has yet to be done.
pub fn reload_now_or_later(
    report: &mut Report,
    drivers: &[String],
    now: bool,
    delay: Delay,
) -> Result<(), TunerError> {
    if !report.problems.is_empty() {
        return Ok(());
    }
    for driver in drivers {
        if !now || !report.done {
            report.notes.push(format!(
                "{driver} has the delay {delay} from the next time that it is loaded: at the next start, or \
                 now by --reload"
            ));
            continue;
        }
        reload(driver)?;
        report.notes.push(format!("{driver} was unloaded and loaded again; its NICs are down"));
    }
    Ok(())
}

fn reload(driver: &str) -> Result<(), TunerError> {
    let before = present_nics();
    modprobe(&["-r", driver])?;
    modprobe(&[driver])?;
    let begun = Instant::now();
    while let Some(missing) = before.iter().find(|name| if_nametoindex(name.as_str()).is_err()) {
        if begun.elapsed() > RETURN_LIMIT {
            return Err(TunerError::Lost { interface: missing.clone(), driver: driver.into() });
        }
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn modprobe(words: &[&str]) -> Result<(), TunerError> {
    let output = Command::new("modprobe").args(words).stdin(Stdio::null()).output();
    let output = output.map_err(TunerError::NoModprobe)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(TunerError::Modprobe { words: words.join(" "), said })
}
