//! The processes of a job, made again from its checkpoint.

use super::{
    CRIU, Flock, Images, Manifest, RESTORING,
    cgroup::Cgroup,
    criu::Criu,
    files, nics,
    processes::{self, Makers},
    shared::Remade,
};
use std::{
    env, fs,
    io::{self, ErrorKind},
    path::Path,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};
use tasuki_control::{Epoch, JobId};
use tasuki_shepherd::RESIDENCE;

impl Images {
    /// Makes the processes of a job again, which stand still then, and puts the shepherd's socket at
    /// `socket`. Returns the shepherd's process and what is known of the job. If it fails, files in shared
    /// memory and cgroups that it has made are removed.
    pub fn restore(
        &self,
        (job, epoch): (JobId, Epoch),
        manifest: &Manifest,
        socket: &Path,
        stop: &AtomicBool,
    ) -> Result<Flock, String> {
        let (folder, flock) = (self.whole(job, epoch), manifest.flock());
        let criu = Criu::find()?;
        let own = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let makers = Makers { criu: criu.program(), own };
        let end = || processes::end(manifest.processes(), flock.shepherd, job, &makers);
        processes::wait_free(&manifest.numbers(), stop)?;
        let (mut cgroup, mut remade) = (Cgroup::of(&flock.residence), Remade::of(&self.of_job(job))?);
        let made = cgroup
            .make(stop)
            .and_then(|()| manifest.put_back(&folder, &mut remade))
            .and_then(|()| note(&flock, socket))
            .and_then(|()| self.make((job, epoch), manifest, (&criu, &end), stop))
            .and_then(|()| settle(manifest, &flock, &cgroup, &remade).inspect_err(|_| end()));
        let Err(why) = made else { return Ok(flock) };
        let stays = [remade.take_back(), cgroup.take_back()].concat();
        match stays.is_empty() {
            true => Err(why),
            false => Err(format!("{why}; this stays of what the restart has made: {}", stays.join(", "))),
        }
    }

    /// Has CRIU make the processes. `end` ends what it leaves half made.
    fn make(
        &self,
        (job, epoch): (JobId, Epoch),
        manifest: &Manifest,
        (criu, end): (&Criu, &dyn Fn()),
        stop: &AtomicBool,
    ) -> Result<(), String> {
        let images = self.whole(job, epoch).join(CRIU);
        let lock = files::lock(&self.of_job(job).join(RESTORING));
        let lock =
            lock.map_err(|error| format!("cannot make a file in {}: {error}", self.of_job(job).display()))?;
        let here = nics::for_this_machine(&images, manifest.nics());
        // Copies take their time, in which a number may have been taken.
        let here = here.and_then(|here| processes::wait_free(&manifest.numbers(), stop).map(|()| here));
        let here = here.and_then(|here| match stop.load(Ordering::Relaxed) {
            true => Err("it was given up".into()),
            false => Ok(here),
        });
        // CRIU that is killed while it makes processes leaves files behind, which stop the next restart.
        let never = AtomicBool::new(false);
        let made = here.and_then(|here| {
            let made = criu.restore(&here, manifest.clock(), Stdio::from(lock), &never);
            // CRIU leaves processes half made where one of them is killed.
            made.inspect_err(|_| end())
        });
        nics::forget(&images);
        made
    }
}

/// Writes down, at the place of the shepherd's socket, by what the job's processes are found if it is killed.
fn note(flock: &Flock, socket: &Path) -> Result<(), String> {
    match fs::remove_file(socket) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("cannot remove {}: {error}", socket.display()));
        }
        _ => {}
    }
    let note = socket.with_extension(RESIDENCE);
    let noted = serde_json::to_vec(&flock.residence).map_err(io::Error::other);
    let noted = noted.and_then(|text| fs::write(&note, text));
    noted.map_err(|error| format!("cannot write {}: {error}", note.display()))
}

/// Puts processes that were made again into their cgroup, and looks whether they are as they were.
fn settle(manifest: &Manifest, flock: &Flock, cgroup: &Cgroup, remade: &Remade) -> Result<(), String> {
    let members = manifest.processes().iter().copied().filter(|pid| *pid != flock.shepherd);
    let entered = cgroup.enter(members);
    let entered = entered.map_err(|error| format!("they cannot enter the job's cgroup: {error}"));
    let settled = entered.and_then(|()| manifest.verify(remade.files()));
    settled.map_err(|why| format!("the processes were made again, and ended: {why}"))
}
