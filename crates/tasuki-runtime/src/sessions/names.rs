//! Names of users. Threads ask for them, since a database of users on another host (LDAP, for instance) may
//! not answer, and the daemon has others to serve meanwhile.

use nix::unistd::{Uid, User as Account};
use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd},
        unix::net::UnixStream,
    },
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// How long a name holds.
const FRESH: Duration = Duration::from_secs(60);
/// How long it holds that there is none, for commands that ask meanwhile.
const FAILED: Duration = Duration::from_secs(1);
/// How long a command waits for its user's name.
const LIMIT: Duration = Duration::from_secs(10);
/// After this time without an answer it is asked once more: an earlier question may be lost for ever.
const AGAIN: Duration = Duration::from_secs(60);
/// Most questions without an answer.
const ASKED_MAX: usize = 64;
/// The user with the number 0, whose name is known.
const ROOT: &str = "root";

/// What is known of a user's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// It is this one.
    Known(String),
    /// It is being asked for.
    Asked,
    /// It cannot be found out, for this reason.
    Missing(String),
}

/// A call that may wait: a user's name, or why there is none.
type LookUp = Arc<dyn Fn(u32) -> Result<String, String> + Send + Sync>;

/// Names of users, by their numbers.
pub(super) struct Names {
    look_up: LookUp,
    /// Answers, and since when each is known.
    known: BTreeMap<u32, (Result<String, String>, Instant)>,
    /// When it was asked last.
    asked: BTreeMap<u32, Instant>,
    /// Threads that ask.
    threads: usize,
    tell: Sender<(u32, Result<String, String>)>,
    told: Receiver<(u32, Result<String, String>)>,
    /// What a thread writes to when it has told something, and its other end.
    bell: Arc<UnixStream>,
    rung: UnixStream,
}

impl Names {
    /// The names that this host knows.
    pub fn of_host() -> io::Result<Self> {
        Self::by(Arc::new(name_of))
    }

    /// Names by a call that may wait.
    pub fn by(look_up: LookUp) -> io::Result<Self> {
        let (tell, told) = channel();
        let (bell, rung) = UnixStream::pair()?;
        [&bell, &rung].into_iter().try_for_each(|end| end.set_nonblocking(true))?;
        let (known, asked) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { look_up, known, asked, threads: 0, tell, told, bell: Arc::new(bell), rung })
    }

    /// Readable when a name has come.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.rung.as_fd()
    }

    /// Takes names that have come.
    pub fn take(&mut self, now: Instant) {
        let mut bytes = [0; 64];
        while self.rung.read(&mut bytes).is_ok_and(|length| length > 0) {}
        for (uid, name) in self.told.try_iter() {
            self.asked.remove(&uid);
            self.threads -= 1;
            self.known.insert(uid, (name, now));
        }
        self.known.retain(|_, (name, since)| {
            now.saturating_duration_since(*since) < if name.is_ok() { FRESH } else { FAILED }
        });
    }

    /// The name of a user, which is asked for if it is not known.
    pub fn of(&mut self, uid: u32, now: Instant) -> Name {
        if uid == 0 {
            return Name::Known(ROOT.into());
        }
        match self.known.get(&uid) {
            Some((Ok(name), _)) => return Name::Known(name.clone()),
            Some((Err(why), _)) => return Name::Missing(why.clone()),
            None => {}
        }
        match self.asked.get(&uid) {
            Some(since) if now.saturating_duration_since(*since) >= AGAIN => self.ask(uid, now),
            Some(since) if now.saturating_duration_since(*since) >= LIMIT => Name::Missing(format!(
                "user {uid} cannot be looked up: the database of users on this host (nsswitch.conf(5)) takes \
                 longer than {} s",
                LIMIT.as_secs()
            )),
            Some(_) => Name::Asked,
            None => self.ask(uid, now),
        }
    }

    fn ask(&mut self, uid: u32, now: Instant) -> Name {
        if self.threads >= ASKED_MAX {
            let why = format!("{ASKED_MAX} questions to the database of users have no answer");
            return Name::Missing(format!("user {uid} cannot be looked up: {why}"));
        }
        let (look_up, tell, bell) = (Arc::clone(&self.look_up), self.tell.clone(), Arc::clone(&self.bell));
        let ask = move || {
            // Nobody hears it where the daemon ends meanwhile. A bell that takes no more has rung.
            let _ = tell.send((uid, look_up(uid)));
            let _ = (&*bell).write(&[0]);
        };
        match thread::Builder::new().spawn(ask) {
            Ok(_) => {
                self.asked.insert(uid, now);
                self.threads += 1;
                Name::Asked
            }
            Err(error) => Name::Missing(format!("user {uid} cannot be looked up: {error}")),
        }
    }

    /// A user in words, as far as is known.
    pub fn words(&self, uid: u32) -> String {
        match self.known.get(&uid) {
            _ if uid == 0 => ROOT.into(),
            Some((Ok(name), _)) => name.clone(),
            _ => format!("user {uid}"),
        }
    }
}

/// The name of a user on this host. Jobs need one, which stands for the same user on all hosts.
fn name_of(uid: u32) -> Result<String, String> {
    match Account::from_uid(Uid::from_raw(uid)) {
        Ok(Some(account)) => Ok(account.name),
        Ok(None) => Err(format!("user {uid} has no name on this host, and jobs need one: useradd")),
        Err(errno) => Err(format!("user {uid} cannot be looked up: {}", errno.desc())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Far longer than anything here takes.
    const LONG: Duration = Duration::from_secs(60);

    /// Takes names until a user's is not being asked for any more, at this time.
    fn until_told(names: &mut Names, uid: u32, now: Instant) -> Name {
        let end = Instant::now() + LONG;
        while names.of(uid, now) == Name::Asked && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
            names.take(now);
        }
        names.of(uid, now)
    }

    #[test]
    fn a_database_that_does_not_answer_holds_up_those_alone_who_ask() {
        let (answer, answers) = channel::<()>();
        let answers = Mutex::new(answers);
        let look_up = move |uid: u32| match uid {
            1000 => answers.lock().unwrap().recv().map(|()| "anna".into()).map_err(|e| e.to_string()),
            2000 => Ok("berta".into()),
            _ => Err(format!("user {uid} has no name")),
        };
        let mut names = Names::by(Arc::new(look_up)).unwrap();
        let now = Instant::now();
        assert_eq!(names.of(1000, now), Name::Asked);
        assert_eq!(names.of(0, now), Name::Known("root".into()));
        assert_eq!(until_told(&mut names, 2000, now), Name::Known("berta".into()));
        assert_eq!(until_told(&mut names, 3000, now), Name::Missing("user 3000 has no name".into()));
        let late = now + Duration::from_secs(11);
        let Name::Missing(why) = names.of(1000, late) else { panic!("it does not answer") };
        assert!(
            why.starts_with("user 1000 cannot be looked up") && why.contains("longer than 10 s"),
            "{why}"
        );
        // It answers at last.
        answer.send(()).unwrap();
        let end = Instant::now() + LONG;
        while names.of(1000, late) != Name::Known("anna".into()) && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
            names.take(late);
        }
        assert_eq!((names.of(1000, late), names.words(1000)), (Name::Known("anna".into()), "anna".into()));
        // It is asked once more where an answer never comes, and not without end.
        let mut later = late + Duration::from_secs(61);
        names.take(later);
        for _ in 1..ASKED_MAX {
            assert_eq!(names.of(1000, later), Name::Asked);
            later += Duration::from_secs(60);
        }
        assert_eq!(names.of(1000, later), Name::Asked);
        later += Duration::from_secs(60);
        assert!(matches!(names.of(1000, later), Name::Missing(why) if why.contains("64 questions")));
    }

    #[test]
    fn a_name_does_not_hold_for_ever() {
        let look_up = |_: u32| Ok("anna".to_owned());
        let mut names = Names::by(Arc::new(look_up)).unwrap();
        let late = Instant::now();
        assert_eq!(until_told(&mut names, 1000, late), Name::Known("anna".into()));
        names.take(late + Duration::from_secs(59));
        assert_eq!(names.of(1000, late), Name::Known("anna".into()));
        names.take(late + Duration::from_secs(61));
        assert_eq!(names.of(1000, late + Duration::from_secs(61)), Name::Asked);
    }

    #[test]
    fn the_own_user_has_a_name_or_the_advice_how_to_get_one() {
        let mut names = Names::of_host().unwrap();
        let now = Instant::now();
        assert_eq!(until_told(&mut names, 65534, now), Name::Known("nobody".into()));
        let Name::Missing(why) = until_told(&mut names, 3_999_999_999, now) else { panic!("nobody has it") };
        assert!(why.contains("useradd"), "{why}");
    }
}
