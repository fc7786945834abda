//! Commands from outside of a lab to its runtime: they run in the lab's first host, as a user of a cluster is
//! logged in on one of its hosts.

use crate::lab::exit_code;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};
use tasuki_job::own_provider;
use tasuki_lab::{ExecRequest, HOST_PROGRAM, HOST_SOCKET, Job, Lab, LabError, need_root};
use tasuki_terminal::Failure;

/// Runs this very command in the first host of a lab, if it is about a lab: the named one, or, where no
/// daemon runs on this machine, the only one that is up. `None`: it is about this host. `share`: words that
/// may be paths, which all hosts are to see.
pub fn in_lab(name: Option<&str>, share: &[OsString]) -> Result<Option<ExitCode>, Failure> {
    let Some(lab) = lab_meant(name)? else { return Ok(None) };
    let status = lab.status()?;
    let Some(first) = status.hosts.first() else { return Err(LabError::NoneUp.into()) };
    let argv = [OsString::from(HOST_PROGRAM)].into_iter().chain(std::env::args_os().skip(1));
    let mut request = ExecRequest::new(&first.name, argv.collect(), Job::Inherit)?;
    let paths = share.iter().map(PathBuf::from).filter(|path| path.components().count() > 1 && path.exists());
    request.share = paths.filter_map(|path| std::path::absolute(path).ok()).collect();
    // In a host the program lies where no provider is beside it.
    if std::env::var_os("TASUKI_PROVIDER").is_none()
        && let Ok(provider) = own_provider()
    {
        request.share.extend([provider.folder.clone(), provider.library]);
        request.env.push(("TASUKI_PROVIDER".into(), provider.folder.into()));
    }
    if std::env::var_os("TASUKI_PEERS").is_none()
        && let Some(peers) = peers_beside()
    {
        request.env.push(("TASUKI_PEERS".into(), peers.into()));
    }
    lab.share(&request)?;
    Ok(Some(exit_code(lab.run(request, None)?)))
}

fn lab_meant(name: Option<&str>) -> Result<Option<Lab>, Failure> {
    if Path::new(HOST_SOCKET).exists() {
        return Ok(None);
    }
    match name {
        Some(name) => Ok(Some(Lab::named(name)?)),
        None if tasuki_runtime::is_here() || need_root().is_err() => Ok(None),
        None => match Lab::find() {
            Err(LabError::NoneUp) => Ok(None),
            found => Ok(Some(found?)),
        },
    }
}

/// The folder of unpacked MPIs beside this program, as in a checkout.
fn peers_beside() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.join("peers")).filter(|peers| peers.is_dir())
}
