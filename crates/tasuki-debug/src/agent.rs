//! What runs on every host while its processes have debuggers.

use crate::{
    follow::to,
    gdb::Gdb,
    order::{Order, Report, State},
    target::Debuggee,
};
use std::{
    io::{self, BufRead, Write},
    process::ExitCode,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};
use tasuki_stacks::mi::Record;

/// The hidden subcommand of `tasuki` that reads an [`Order`] from every line of its input, and answers each
/// with a line that is a report.
pub const AGENT_COMMAND: &str = "debug-agent";

/// How long debuggers may take, all at once, to let their processes go.
const END: Duration = Duration::from_secs(8);
/// How long an agent with debuggers goes on without an order; [`Ranks`](crate::Ranks) gives some much more
/// often. A machine that is switched off, and a network that is cut, end no input.
const SILENCE: Duration = Duration::from_secs(600);

enum Event {
    /// A line of input; `None`: it has ended.
    Order(Option<String>),
    /// A line of the output of the debugger at this place.
    Said(usize, Option<Record>),
}

struct Agent {
    gdbs: Vec<Gdb>,
    events: Sender<Event>,
    news: bool,
    /// How long it goes on without an order.
    silence: Duration,
}

/// Runs the agent until its standard input ends, or nothing has come by it for long. Then all processes go on
/// without a debugger.
pub fn main() -> ExitCode {
    let (events, received) = channel();
    let orders = events.clone();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if orders.send(Event::Order(Some(line))).is_err() {
                return;
            }
        }
        let _ = orders.send(Event::Order(None));
    });
    let mut agent = Agent { gdbs: Vec::new(), events, news: false, silence: SILENCE };
    let ended = agent.serve(&received);
    agent.let_go(|_| true);
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

impl Agent {
    fn serve(&mut self, events: &Receiver<Event>) -> Result<(), String> {
        let (mut waits, mut heard): (Option<Instant>, _) = (None, Instant::now());
        loop {
            let silent = (!self.gdbs.is_empty()).then(|| heard + self.silence);
            let ends = self.gdbs.iter().filter_map(Gdb::deadline).chain(waits).chain(silent).min();
            let left =
                ends.map_or(Duration::from_secs(3600), |end| end.saturating_duration_since(Instant::now()));
            match events.recv_timeout(left) {
                Ok(Event::Order(None)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Ok(Event::Order(Some(line))) => {
                    heard = Instant::now();
                    let order = serde_json::from_str(&line).map_err(|error| format!("no order: {error}"))?;
                    match order {
                        Order::Wait(ms) => waits = Some(Instant::now() + Duration::from_millis(ms)),
                        order => {
                            let report = self.obey(order);
                            self.answer(report)?;
                        }
                    }
                }
                Ok(Event::Said(at, record)) => {
                    self.news |= self.gdbs.get_mut(at).is_some_and(|gdb| gdb.take(record));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            if !self.gdbs.is_empty() && now >= heard + self.silence {
                let seconds = self.silence.as_secs();
                return Err(format!("nothing has come for {seconds} s; its processes go on"));
            }
            self.gdbs.iter_mut().for_each(|gdb| self.news |= gdb.check(now));
            if waits.is_some_and(|end| self.news || now >= end) {
                waits = None;
                self.answer(Report::default())?;
            }
        }
    }

    fn answer(&mut self, report: Report) -> Result<(), String> {
        self.news = false;
        let states = self.gdbs.iter_mut().map(Gdb::told).collect();
        let line = serde_json::to_string(&Report { states, ..report }).map_err(|error| error.to_string())?;
        let mut output = io::stdout().lock();
        writeln!(output, "{line}").and_then(|()| output.flush()).map_err(|error| error.to_string())
    }

    fn obey(&mut self, order: Order) -> Report {
        match order {
            Order::List(target) => {
                let (found, problems) = target.local();
                return Report { found, problems, ..Report::default() };
            }
            Order::Attach(debuggees) => debuggees.iter().for_each(|debuggee| self.attach(debuggee)),
            Order::Command(pids, text) => self.of(&pids).for_each(|gdb| gdb.command(&text)),
            Order::Interrupt(pids) => self.of(&pids).for_each(|gdb| gdb.interrupt()),
            Order::Detach(pids) => self.let_go(|gdb| pids.contains(&gdb.pid())),
            Order::Wait(_) => {}
        }
        Report::default()
    }

    fn of<'a>(&'a mut self, pids: &'a [u32]) -> impl Iterator<Item = &'a mut Gdb> {
        self.gdbs.iter_mut().filter(|gdb| pids.contains(&gdb.pid()))
    }

    fn attach(&mut self, debuggee: &Debuggee) {
        let at = self.gdbs.len();
        self.gdbs.push(Gdb::start(debuggee, to(&self.events, move |record| Event::Said(at, record))));
    }

    /// Has the debuggers that are meant let their processes go, all at once.
    fn let_go(&mut self, is_meant: impl Fn(&Gdb) -> bool) {
        let mut all: Vec<&mut Gdb> = self.gdbs.iter_mut().filter(|gdb| is_meant(gdb)).collect();
        all.iter_mut().for_each(|gdb| gdb.let_go());
        let end = Instant::now() + END;
        for gdb in all {
            gdb.finish(end);
            gdb.forget(State::Gone("it has no debugger any more".into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_of_which_nobody_wants_anything_any_more_lets_processes_go() {
        let (events, received) = channel();
        let silence = Duration::from_millis(20);
        let mut agent = Agent { gdbs: Vec::new(), events, news: false, silence };
        // No process has this number, so that no debugger is run.
        agent.attach(&Debuggee { pid: u32::MAX, ..Debuggee::default() });
        let (tell, told) = channel();
        // Its input does not end.
        thread::spawn(move || tell.send(agent.serve(&received)));
        let ended = told.recv_timeout(Duration::from_secs(60)).expect("it ends");
        assert!(ended.is_err_and(|why| why.contains("nothing has come")));
    }
}
