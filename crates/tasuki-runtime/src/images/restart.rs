//! The processes of a job, made again from its checkpoint.

use super::{
    CRIU, Flock, Images, Manifest, RESTORING, cgroup,
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
    /// `socket`. Returns the shepherd's process and what is known of the job.
    pub fn restore(
        &self,
        (job, epoch): (JobId, Epoch),
        manifest: &Manifest,
        socket: &Path,
        stop: &AtomicBool,
    ) -> Result<Flock, String> {
        let folder = self.whole(job, epoch);
        let criu = Criu::find()?;
        processes::wait_free(&manifest.numbers(), stop)?;
        let mut remade = Remade::of(&self.of_job(job))?;
        manifest.put_back(&folder, &mut remade)?;
        let flock = manifest.flock();
        cgroup::make(&flock.residence, stop)?;
        match fs::remove_file(socket) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(format!("cannot remove {}: {error}", socket.display()));
            }
            _ => {}
        }
        // By this the job's processes are found if its shepherd is killed.
        let note = socket.with_extension(RESIDENCE);
        let noted = serde_json::to_vec(&flock.residence).map_err(io::Error::other);
        let noted = noted.and_then(|text| fs::write(&note, text));
        noted.map_err(|error| format!("cannot write {}: {error}", note.display()))?;
        let lock = files::lock(&self.of_job(job).join(RESTORING));
        let lock =
            lock.map_err(|error| format!("cannot make a file in {}: {error}", self.folder.display()))?;
        let own = env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        let makers = Makers { criu: criu.program(), own };
        let end = || processes::end(manifest.processes(), flock.shepherd, job, &makers);
        let here = nics::for_this_machine(&folder.join(CRIU), manifest.nics())?;
        // Copies take their time, in which a number may have been taken.
        let free = processes::wait_free(&manifest.numbers(), stop);
        let free = free.and_then(|()| match stop.load(Ordering::Relaxed) {
            true => Err("it was given up".into()),
            false => Ok(()),
        });
        // CRIU that is killed while it makes processes leaves files behind, which stop the next restart.
        let never = AtomicBool::new(false);
        let made_again = free.and_then(|()| {
            let made = criu.restore(&here, manifest.clock(), Stdio::from(lock), &never);
            // CRIU leaves processes half made where one of them is killed.
            made.inspect_err(|_| end())
        });
        nics::forget(&folder.join(CRIU));
        made_again?;
        let members = manifest.processes().iter().copied().filter(|pid| *pid != flock.shepherd);
        let entered = cgroup::enter(&flock.residence, members);
        let entered = entered.map_err(|error| format!("they cannot enter the job's cgroup: {error}"));
        match entered.and_then(|()| manifest.verify(remade.files())) {
            Ok(()) => Ok(flock),
            Err(why) => {
                end();
                Err(format!("the processes were made again, and ended: {why}"))
            }
        }
    }
}
