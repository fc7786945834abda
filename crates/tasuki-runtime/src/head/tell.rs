//! What follows the end of a job: users are told, and everybody of those that could not be.

use super::{Head, KEEP};
use std::{ffi::OsString, fs::File, os::unix::ffi::OsStringExt};
use tasuki_control::{Bytes, JobId, Notice, Order, Reply};
use tasuki_notify::{COMMAND, Task};

impl Head {
    /// Nothing more is done for a job that is over.
    pub(super) fn over(&mut self, job: JobId) {
        self.joints.remove(&job);
        // Their shepherds have kept the job's end until now, for another daemon of the queue.
        let hosts = self.queue.placed_on(job).into_iter();
        self.out.extend(hosts.map(|host| (host, Order::Forget { job })));
        self.feed_followers(job);
        self.feed_rank(job);
        self.inputs.forget(job);
        self.followers.close(job);
        for job in self.queue.forget(KEEP) {
            self.journal.forget(job);
        }
    }

    /// Has the user of a job told of its end. Its record is what was written down.
    pub(super) fn notify(&mut self, job: JobId, path: Option<Bytes>) {
        let Some(view) = self.queue.view(job) else { return };
        let Some(address) = view.terms.notify.clone() else { return };
        let user = view.user.clone();
        match File::open(self.journal.of(job).join("job.json")) {
            Ok(record) => {
                let path = path.map(|path| OsString::from_vec(path.into_vec()));
                self.notifiers.add(Task { job, user, address, path, record });
            }
            Err(error) => self.queue.told(job, Notice::Failed(format!("its record: {error}"))),
        }
    }

    /// Starts what is to tell users, and takes note of what became of it.
    pub(super) fn tell_users(&mut self) {
        let command = ["/proc/self/exe", COMMAND].map(OsString::from);
        for (job, notice) in self.notifiers.poll(&command) {
            self.queue.told(job, notice);
        }
    }

    /// The jobs, with those whose users could not be told.
    pub(super) fn jobs(&self, history: bool) -> Reply {
        let untold = self.queue.untold();
        Reply::Jobs { jobs: self.queue.views(history), untold }
    }
}
