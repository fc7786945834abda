//! The addresses of the host that keeps the queue. A thread asks for those of a name, since a name server may
//! not answer, and all are tried in turn.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, SocketAddr, ToSocketAddrs},
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, channel},
    },
    thread,
};

/// A call that may wait: the addresses of a name, with a port.
pub(super) type LookUp = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

/// What is known of where to connect to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address {
    /// There, next.
    Known(SocketAddr),
    /// The name is being asked for.
    Asked,
    /// There is no address, for this reason.
    Missing(String),
}

/// The addresses of a host.
pub(super) struct Addresses {
    host: String,
    port: u16,
    look_up: LookUp,
    /// What a thread is going to tell.
    asked: Option<Receiver<io::Result<Vec<SocketAddr>>>>,
    known: Vec<SocketAddr>,
    /// Those that were tried in vain since the last one that was not.
    tried: BTreeSet<SocketAddr>,
}

impl Addresses {
    /// Those of a host that is named by a name or an address.
    pub fn of(host: &str, port: u16) -> Self {
        let look_up = |host: &str, port| Ok((host, port).to_socket_addrs()?.collect());
        Self::by(host, port, Arc::new(look_up))
    }

    /// As [`Addresses::of`], by a call that may wait.
    pub fn by(host: &str, port: u16, look_up: LookUp) -> Self {
        let known: Vec<SocketAddr> =
            host.parse::<IpAddr>().into_iter().map(|address| SocketAddr::from((address, port))).collect();
        Self { host: host.into(), port, look_up, asked: None, known, tried: BTreeSet::new() }
    }

    /// Asks for the addresses of a name, unless that is being done.
    pub fn ask(&mut self) {
        if self.asked.is_some() || self.host.parse::<IpAddr>().is_ok() {
            return;
        }
        let (tell, told) = channel();
        let (look_up, host, port) = (Arc::clone(&self.look_up), self.host.clone(), self.port);
        // Without a thread nobody tells, which is found when the answer is looked for.
        let _ = thread::Builder::new().spawn(move || tell.send(look_up(&host, port)));
        self.asked = Some(told);
    }

    /// Where to connect to next. `patient`: there is still time to wait for the answer; without it the last
    /// one counts.
    pub fn next(&mut self, patient: bool) -> Address {
        let told = self.asked.as_ref().map(Receiver::try_recv);
        match told {
            Some(Err(TryRecvError::Empty)) if patient => return Address::Asked,
            // It goes on asking, and the answer comes too late for this time.
            Some(Err(TryRecvError::Empty)) if self.known.is_empty() => {
                return Address::Missing("its name is not found out in time".into());
            }
            Some(Err(TryRecvError::Empty)) | None => {}
            Some(Err(TryRecvError::Disconnected)) => {
                self.asked = None;
                return Address::Missing("there is no thread to ask for its name".into());
            }
            Some(Ok(answer)) => {
                self.asked = None;
                match answer {
                    Ok(known) => self.known = known,
                    Err(error) => return Address::Missing(error.to_string()),
                }
            }
        }
        if self.known.iter().all(|address| self.tried.contains(address)) {
            self.tried.clear();
        }
        match self.known.iter().find(|address| !self.tried.contains(address)) {
            Some(address) => Address::Known(*address),
            None => Address::Missing("the name has no address".into()),
        }
    }

    /// This one was tried in vain.
    pub fn failed(&mut self, address: SocketAddr) {
        self.tried.insert(address);
    }

    /// The last one is right.
    pub fn succeeded(&mut self) {
        self.tried.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::Mutex,
        time::{Duration, Instant},
    };

    /// The answer, once it has come.
    fn told(addresses: &mut Addresses) -> Address {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            match addresses.next(true) {
                Address::Asked if Instant::now() < end => thread::sleep(Duration::from_millis(1)),
                other => return other,
            }
        }
    }

    fn at(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 7714))
    }

    #[test]
    fn a_name_server_that_does_not_answer_holds_up_nobody() {
        let (answer, answers) = channel();
        let answers = Mutex::new(answers);
        let look_up = move |_: &str, _: u16| answers.lock().unwrap().recv().map_err(io::Error::other);
        let mut addresses = Addresses::by("n1", 7714, Arc::new(look_up));
        addresses.ask();
        assert_eq!(addresses.next(true), Address::Asked);
        assert!(matches!(addresses.next(false), Address::Missing(why) if why.contains("in time")));
        // What it says at last is used, and is remembered when it is silent again.
        answer.send(vec![at(1)]).unwrap();
        assert_eq!(told(&mut addresses), Address::Known(at(1)));
        addresses.ask();
        assert_eq!(addresses.next(true), Address::Asked);
        assert_eq!(addresses.next(false), Address::Known(at(1)));
    }

    #[test]
    fn all_addresses_of_a_name_are_tried_in_turn() {
        let look_up = |_: &str, _: u16| Ok(vec![at(1), at(2), at(3)]);
        let mut addresses = Addresses::by("n1", 7714, Arc::new(look_up));
        let mut tried = Vec::new();
        for _ in 0..5 {
            addresses.ask();
            let Address::Known(address) = told(&mut addresses) else { panic!("it is known") };
            tried.push(address);
            addresses.failed(address);
        }
        assert_eq!(tried, [1, 2, 3, 1, 2].map(at));
        addresses.succeeded();
        let nothing = |_: &str, _: u16| Ok(Vec::new());
        let mut none = Addresses::by("n1", 7714, Arc::new(nothing));
        none.ask();
        assert_eq!(told(&mut none), Address::Missing("the name has no address".into()));
        // An address needs no name server.
        let mut own = Addresses::by("10.0.0.9", 7714, Arc::new(nothing));
        own.ask();
        assert_eq!(own.next(true), Address::Known(at(9)));
    }
}
