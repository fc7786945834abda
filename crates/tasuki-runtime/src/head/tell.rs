//! What follows the end of a job: users are told, and everybody of those that could not be.

use super::{Head, KEEP};
use std::{ffi::OsString, os::unix::ffi::OsStringExt};
use tasuki_control::{Address, Bytes, JobId, JobView, Order, Reply, User, Work};
use tasuki_notify::{COMMAND, Task};

/// Bytes of jobs in one answer, which must stay below what a message may have.
const JOBS_MAX: usize = 1 << 20;
/// Bytes of what is to be run. An environment with arguments has at most about 2 MiB (execve(2)).
const WORK_MAX: usize = 3 << 20;
/// Bytes that a word of it takes besides its own: its end, and where it is (execve(2)).
const WORD: usize = 1 + 8;
/// Most limits on resources, of which Linux has 16.
const LIMITS_MAX: usize = 64;
/// Most bytes of an MPI's name.
const MPI_MAX: usize = 256;

impl Head {
    /// Writes a job down. What cannot be written down ends it; the end itself is tried again.
    pub(super) fn save(&mut self, job: JobId) {
        let Some((view, work)) = self.queue.saved(job) else { return };
        let is_over = view.state.is_over();
        let Err(error) = self.journal.save(view, work) else { return };
        let head = &self.bundle.head().name;
        if !is_over {
            let why = format!("it cannot be written down on {head}: {error}");
            return self.queue.fail(self.times.now(), job, why);
        }
        if self.unwritten.add(self.times.now(), job) {
            let file = self.journal.record(job);
            eprintln!(
                "tasukid: {head}: the end of job {job} cannot be written to {}: {error}; that is tried again \
                 until there is room",
                file.display()
            );
        }
    }

    /// Tries again to write down how jobs have ended.
    pub(super) fn save_ends(&mut self) {
        for job in self.unwritten.due(self.times.now()) {
            // One that is not known any more, since many others have ended after it, has no file either.
            let is_written = match self.queue.saved(job) {
                Some((view, work)) => self.journal.save(view, work).is_ok(),
                None => true,
            };
            if is_written {
                let notice = self.unwritten.remove(job);
                self.end_is_written(job);
                notice.into_iter().for_each(|path| self.notify(job, path));
            }
        }
    }

    /// Nobody needs to say again how a job has ended, or to go on with it from a checkpoint if it ended well.
    fn end_is_written(&mut self, job: JobId) {
        self.discard_if_done(job);
        // Their shepherds have kept the job's end until now, for another daemon of the queue.
        let hosts = self.queue.placed_on(job).into_iter();
        self.out.extend(hosts.map(|host| (host, Order::Forget { job })));
    }

    /// Nothing more is done for a job that is over.
    pub(super) fn over(&mut self, job: JobId) {
        self.joints.remove(&job);
        self.job_over_in_rounds(job);
        if !self.unwritten.has(job) {
            self.end_is_written(job);
        }
        self.feed_followers(job);
        self.feed_rank(job);
        self.inputs.forget(job);
        self.followers.close(job);
        for job in self.queue.forget(KEEP) {
            self.forget_images(job);
            self.journal.forget(job);
        }
    }

    /// Has the user of a job told of its end. Its record is what was written down.
    pub(super) fn notify(&mut self, job: JobId, path: Option<Bytes>) {
        let Some(user) = self.queue.view(job).map(|view| view.user.clone()) else { return };
        let path = path.map(|path| OsString::from_vec(path.into_vec()));
        let record = self.journal.record(job);
        self.notifiers.add(Task { job, user, path, record });
    }

    /// Starts what is to tell users, and takes note of what became of it.
    pub(super) fn tell_users(&mut self) {
        let command = ["/proc/self/exe", COMMAND].map(OsString::from);
        for (job, notice) in self.notifiers.poll(&command) {
            self.queue.told(job, notice);
        }
    }

    /// The jobs from a number on, as many as fit, as a user may see them, with those whose users could not be
    /// told.
    pub(super) fn jobs(&self, user: &User, history: bool, from: JobId) -> Reply {
        let views = self.queue.views(history).into_iter().filter(|view| view.id >= from);
        let now = |view: JobView| JobView { saving: self.rounds.seconds(view.id), ..view };
        let (jobs, next) = page(views.map(|view| seen_by(user, now(view))));
        Reply::Jobs { jobs, next, untold: self.queue.untold() }
    }
}

/// A job as a user may see it: where others are told of its end is theirs to know.
fn seen_by(user: &User, mut view: JobView) -> JobView {
    if !user.is_root && user.name != view.user {
        view.terms.notify = view.terms.notify.as_deref().map(Address::concealed);
    }
    view
}

/// As many jobs as fit into an answer, at least one, and the number of the next one.
fn page(views: impl Iterator<Item = JobView>) -> (Vec<JobView>, Option<JobId>) {
    let (mut jobs, mut encoded) = (Vec::new(), Vec::new());
    for view in views {
        // One that has no encoding is found when the answer is written.
        let _ = tasuki_control::write(&view, &mut encoded);
        if encoded.len() > JOBS_MAX && !jobs.is_empty() {
            return (jobs, Some(view.id));
        }
        jobs.push(view);
    }
    (jobs, None)
}

/// Why what is to be run is too long to be told to a host, with the hosts of the job; `None`: it is not.
pub(super) fn too_long(work: &Work) -> Option<String> {
    let mut encoded = Vec::new();
    let has_long_name = work.mpi.as_ref().is_some_and(|mpi| mpi.len() > MPI_MAX);
    if work.limits.len() > LIMITS_MAX || has_long_name {
        return Some(format!(
            "it has more than {LIMITS_MAX} limits on resources, or its MPI's name more than {MPI_MAX} bytes"
        ));
    }
    // A word takes memory even if it is empty.
    let words = work.argv.iter().map(|word| word.len() + WORD);
    let variables = work.env.iter().map(|(name, value)| name.len() + value.len() + 1 + WORD);
    let is_long = words.chain(variables).sum::<usize>() > WORK_MAX
        || tasuki_control::write(work, &mut encoded).is_err()
        || encoded.len() > WORK_MAX;
    is_long.then(|| {
        format!("its arguments and variables have more than {} MiB: pass less by --export", WORK_MAX >> 20)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasuki_control::{Order, Part, Start, State, Terms};

    fn view(id: JobId) -> JobView {
        JobView {
            id,
            state: State::Done,
            user: "anna".into(),
            ranks: 4,
            command: "x".repeat(1000),
            mpi: None,
            parts: Vec::new(),
            submitted: 1,
            begun: None,
            ended: None,
            exit: None,
            reason: None,
            terms: Terms { after: (0..id % 7 * 1000).collect(), ..Terms::default() },
            task: None,
            held: 0,
            frozen: None,
            notice: None,
            ending: None,
            checkpoint: None,
            saving: None,
            unsaved: None,
            uncopied: None,
        }
    }

    #[test]
    fn where_a_user_is_told_is_for_that_user_and_root() {
        let hook = "https://example.org/secret";
        let mut secret = view(1);
        secret.terms.notify = Some(hook.into());
        let shown = |name: &str| {
            let user = User { name: name.into(), is_root: name == "root" };
            seen_by(&user, secret.clone()).terms.notify.unwrap()
        };
        assert_eq!([shown("anna"), shown("root")], [hook, hook]);
        assert_eq!(shown("ben"), "https://example.org/...");
    }

    #[test]
    fn more_jobs_than_a_message_holds_are_told_in_several() {
        let (mut told, mut from, mut answers) = (Vec::new(), Some(1), 0);
        while let Some(first) = from {
            let (jobs, next) = page((1..=6000).filter(|id| *id >= first).map(view));
            let answer = Order::Answer {
                session: u64::MAX,
                reply: Reply::Jobs { jobs: jobs.clone(), next, untold: vec!["123456".into(); 1000] },
            };
            let mut bytes = Vec::new();
            tasuki_control::write(&answer, &mut bytes).expect("it fits");
            told.extend(jobs.into_iter().map(|job| job.id));
            (from, answers) = (next, answers + 1);
        }
        assert_eq!(told, (1..=6000).collect::<Vec<_>>());
        assert!(answers > 4, "{answers}");
    }

    #[test]
    fn what_is_to_be_run_fits_with_the_hosts_of_the_job() {
        let tasuki_control::Report::Request { request: tasuki_control::Request::Submit { work, .. }, .. } =
            tasuki_control::Report::sample()
        else {
            panic!("the sample is a job")
        };
        assert_eq!(too_long(&work), None);
        let env = vec![(Bytes::from(&b"A"[..]), Bytes::from(vec![b'x'; WORK_MAX]))];
        assert!(too_long(&Work { env, ..(*work).clone() }).is_some_and(|why| why.contains("3 MiB")));
        // Empty words are short in a message, and long in memory.
        let empty = vec![Bytes::new(); WORK_MAX / 4];
        assert!(too_long(&Work { argv: empty, ..(*work).clone() }).is_some());
        let empty = vec![(Bytes::new(), Bytes::new()); WORK_MAX / 8];
        assert!(too_long(&Work { env: empty, ..(*work).clone() }).is_some());
        let limits = vec![work.limits[0]; LIMITS_MAX + 1];
        assert!(too_long(&Work { limits, ..(*work).clone() }).is_some());
        assert!(too_long(&Work { mpi: Some("x".repeat(MPI_MAX + 1)), ..(*work).clone() }).is_some());
        // As many ranks as a job may have, each on a host with a long name.
        let part = |rank| Part { host: "h".repeat(64), ranks: vec![rank] };
        let mut long = vec![b'x'; WORK_MAX];
        while too_long(&Work { argv: vec![Bytes::from(long.clone())], ..(*work).clone() }).is_some() {
            long.truncate(long.len() - 64);
        }
        let work = Work { argv: vec![Bytes::from(long)], ..*work };
        let start = Start { job: 1, user: "anna".into(), work, parts: (0..4096).map(part).collect() };
        tasuki_control::write(&Order::Start(Box::new(start)), &mut Vec::new()).expect("it fits");
    }
}
