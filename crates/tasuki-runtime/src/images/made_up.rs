//! Checkpoints for tests, of no processes.

use super::{CRIU, Flock, Images, Manifest};
use std::{collections::BTreeMap, fs};
use tasuki_control::{Epoch, JobId};
use tasuki_shepherd::Residence;

impl Images {
    /// Makes a checkpoint of no processes.
    pub fn make_up(&self, job: JobId, epoch: Epoch) {
        self.make_up_part(job, epoch);
        self.keep(job, epoch).expect("it is kept");
    }

    /// Makes a checkpoint of no processes that is not known to be whole on all hosts.
    pub fn make_up_part(&self, job: JobId, epoch: Epoch) {
        let part = self.part(job, epoch);
        fs::create_dir_all(part.join(CRIU)).expect("a folder");
        fs::write(part.join(CRIU).join("pages"), epoch.to_string().repeat(100_000)).expect("writes");
        let flock = Flock { shepherd: 1, residence: Residence::Processes, proxies: BTreeMap::new() };
        let manifest = Manifest::of(job, &self.version, &flock, &[], &part).expect("a manifest");
        manifest.write(&part).expect("writes");
    }
}
