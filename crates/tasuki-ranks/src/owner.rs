//! The owner of a job while its ranks run: it hears what hosts tell, and ends the job when something goes
//! wrong.

use crate::{
    Ended, Options, PING,
    connection::{Connection, Said, Word},
    course::Course,
    interrupt::Interrupt,
    run::Show,
};
use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    time::{Duration, Instant},
};
use tasuki_shepherd::{Command, End, Event, Message, Stream};
use tasuki_terminal::Labels;

/// How long ranks that are asked to end may take before they are killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long after that the owner waits for hosts to tell that nothing is left.
const KILL_LIMIT: Duration = Duration::from_secs(30);
/// Exit code of a job that ran for too long, as of timeout(1).
const TOO_LONG: u8 = 124;

/// The owner of a job whose agents have their orders.
pub(crate) struct Owner<'a> {
    course: Course,
    connections: Vec<Connection>,
    interrupt: Interrupt,
    /// Asks for the next piece of standard input; `None`: rank 0 reads no more.
    ready: Option<Sender<()>>,
    /// Bytes of standard input that were sent.
    fed: u64,
    /// Whether rank 0 has not taken all of them.
    feeds: bool,
    labels: Option<Labels>,
    show: Show<'a>,
    next_ping: Instant,
    /// When the job has run for too long.
    too_long: Option<(Instant, Duration)>,
    /// When hosts are not waited for any more.
    give_up: Option<Instant>,
}

impl<'a> Owner<'a> {
    /// Of a job on the hosts of these names.
    pub fn new(
        names: impl Iterator<Item = String>,
        connections: Vec<Connection>,
        (interrupt, ready): (Interrupt, Sender<()>),
        options: Options,
        show: Show<'a>,
    ) -> Self {
        let now = Instant::now();
        Self {
            course: Course::new(names),
            connections,
            interrupt,
            ready: Some(ready),
            fed: 0,
            feeds: false,
            labels: options.label.then(Labels::default),
            show,
            next_ping: now + PING,
            // A time that no clock reaches is none.
            too_long: options.timeout.and_then(|limit| Some((now.checked_add(limit)?, limit))),
            give_up: None,
        }
    }

    /// Watches over the job until nothing is left of it, or hosts do not tell so in time.
    pub fn watch(mut self, told: &Receiver<Word>) -> Ended {
        while !self.course.is_over() {
            match told.recv_timeout(self.due().saturating_duration_since(Instant::now())) {
                Ok(word) => self.hear(word),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !self.look(Instant::now()) {
                break;
            }
        }
        let left: Vec<_> = self.course.left().into_iter().map(|host| self.course.name(host)).collect();
        if !left.is_empty() {
            eprintln!("tasuki: some of the job may still run on {}", left.join(", "));
        }
        self.connections.into_iter().for_each(Connection::close);
        match self.course.verdict() {
            Some((code, why)) => Ended { code, why: Some(why.into()) },
            None => Ended { code: 0, why: None },
        }
    }

    /// When there is something to do though no word has come.
    fn due(&self) -> Instant {
        let others = self.too_long.map(|(at, _)| at).into_iter().chain(self.give_up);
        others.fold(self.next_ping, Instant::min)
    }

    /// Does what is due. False: hosts are not waited for any more.
    fn look(&mut self, now: Instant) -> bool {
        if let Some(signal) = self.interrupt.take() {
            self.fail(u8::try_from(128 + signal).unwrap_or(u8::MAX), "it was interrupted".into());
        }
        if let Some((_, limit)) = self.too_long.take_if(|(at, _)| *at <= now) {
            self.fail(TOO_LONG, format!("it ran for longer than {} s", limit.as_secs_f64()));
        }
        if self.next_ping <= now {
            self.next_ping = now + PING;
            for host in self.course.asked() {
                if self.course.host_lost(host, "it has not answered for a minute") {
                    self.end();
                }
            }
        }
        self.give_up.is_none_or(|at| now < at)
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Host(host, Said::Event(event)) => {
                self.course.heard(host);
                self.event(host, event);
            }
            Word::Host(host, Said::Gone(why)) => {
                if self.course.host_lost(host, &why) {
                    self.end();
                }
            }
            Word::Input(bytes) => {
                let at = self.fed;
                self.fed += bytes.len() as u64;
                self.feeds = true;
                self.connections[0].send(Command::Input { at, bytes }.encode());
            }
            Word::InputEnd => self.connections[0].send(Command::InputEnd.encode()),
            // A signal is looked for after every word.
            Word::Interrupted | Word::Host(_, Said::Hello(_)) => {}
        }
    }

    fn event(&mut self, host: usize, event: Event) {
        let name = self.course.name(host);
        match event {
            Event::Output { rank, stream, bytes, .. } => self.print(rank, stream, bytes),
            Event::InputTaken(taken) if taken >= self.fed && std::mem::take(&mut self.feeds) => {
                // Nobody waits for this once standard input has ended.
                if let Some(ready) = &self.ready {
                    let _ = ready.send(());
                }
            }
            Event::InputClosed => self.ready = None,
            Event::NotStarted { rank, why } => {
                let why = format!("rank {rank} on {name} was not started: {why}");
                self.fail(1, why);
            }
            Event::RankEnded { rank, end } => self.rank_ended(host, rank, end),
            Event::Ended { .. } => self.course.host_ended(host),
            Event::Remains { what } => {
                eprintln!("tasuki: {name}: some of the job does not end: {what}");
                // Its host goes on trying, and this command is not to wait for that.
                self.course.host_ended(host);
                self.fail(1, "some of it does not end".into());
            }
            Event::Failed { what } | Event::Note { what } => eprintln!("tasuki: {name}: {what}"),
            _ => {}
        }
    }

    fn rank_ended(&mut self, host: usize, rank: u32, end: End) {
        if self.course.rank_ended(host, rank, end) {
            self.end();
        }
    }

    /// Shows what a rank has written.
    fn print(&mut self, rank: u32, stream: Stream, bytes: Vec<u8>) {
        let bytes = match &mut self.labels {
            None => bytes,
            Some(labels) => {
                let mut labelled = Vec::with_capacity(bytes.len() + 16);
                labels.add(&rank.to_string(), stream == Stream::Err, &bytes, &mut labelled);
                labelled
            }
        };
        // The reader of this output may have gone; the exit code still tells how the job ended.
        let _ = (self.show)(stream, &bytes);
    }

    fn fail(&mut self, code: u8, why: String) {
        if self.course.fails(code, why) {
            self.end();
        }
    }

    /// Ends what is left of the job, and says why.
    fn end(&mut self) {
        let (_, why) = self.course.verdict().unwrap_or_default();
        eprintln!("tasuki: the job ends on all hosts: {why}");
        self.tell(&Command::End { grace_ms: GRACE.as_millis() as u64 });
        self.give_up = Some(Instant::now() + GRACE + KILL_LIMIT);
    }

    /// Tells all hosts on which something may be left.
    fn tell(&self, command: &Command) {
        for host in self.course.left() {
            self.connections[host].send(command.encode());
        }
    }
}
