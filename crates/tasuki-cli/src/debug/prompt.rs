//! One prompt for the debuggers of several ranks.

use super::show;
use std::{
    io::{self, BufRead, IsTerminal, Write},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};
use tasuki_debug::{Line, State, session::Session};
use tasuki_terminal::{Failure, table, width};

/// How often is looked whether Ctrl-C was typed.
const LOOK: Duration = Duration::from_millis(100);
const HELP: &str = "\
bt, next, print x ...   commands of gdb, for the ranks in brackets; `help bt` is gdb's own help
0-3,7: bt               for these ranks; `all: bt` for all
2:                      commands are for rank 2 from now on; `all:` for all
continue                comes back when all have stopped; Ctrl-C stops them; `continue &` comes back at once
ranks                   what each rank does, and where it runs
detach                  lets them go on without a debugger
quit                    lets all go on, and ends";

/// Reads lines until there are no more, or one says that it is enough, or no debugger is left.
pub fn run(session: &mut Session) -> Result<(), Failure> {
    let on_terminal = io::stdin().is_terminal();
    if on_terminal {
        let all = session.of(&[]);
        println!("A debugger has rank {}. `help` says what can be typed.", session.names(&all));
    }
    let (tell, lines) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    let mut chosen = Vec::new();
    while !session.is_over() {
        if on_terminal {
            print!("[{}] ", session.names(&session.of(&chosen)));
            io::stdout().flush()?;
        }
        let line = loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => break Some(line),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) if session.was_interrupted() => {
                    stop(session);
                    break Some(String::new());
                }
                Err(RecvTimeoutError::Timeout) => {
                    session.ranks.keep().iter().for_each(|lost| eprintln!("tasuki: {lost}"));
                }
            }
        };
        let Some(line) = line else { break };
        match Line::read(&line) {
            Err(why) => eprintln!("tasuki: {why}"),
            Ok(Line::Quit) => break,
            Ok(line) => obey(session, &mut chosen, line),
        }
    }
    Ok(())
}

/// Ctrl-C where nothing is awaited: ranks that run in the background stop.
fn stop(session: &mut Session) {
    let is_running = |at: &usize| session.ranks.members[*at].state.is_at_work();
    let running: Vec<usize> = session.ranks.all().into_iter().filter(is_running).collect();
    println!("");
    session.ranks.interrupt(&running);
    session.settle(&running, false, None, |session, answers| show(session, "continue", &answers));
}

fn obey(session: &mut Session, chosen: &mut Vec<(u32, u32)>, line: Line) {
    match line {
        Line::Empty | Line::Quit => {}
        Line::Help => println!("{HELP}"),
        Line::States => {
            session.ranks.wait(Duration::ZERO);
            states(session);
        }
        Line::Choose(spans) => {
            let spans = spans.unwrap_or_default();
            match session.of(&spans).is_empty() {
                true => eprintln!("tasuki: no debugger has such a rank; `ranks` lists them"),
                false => *chosen = spans,
            }
        }
        Line::Detach(spans) => {
            let of = session.of(spans.as_ref().unwrap_or(chosen));
            session.ranks.detach(&of);
            chosen.clear();
        }
        Line::Command(spans, command) => {
            let of = session.of(spans.as_ref().unwrap_or(chosen));
            // Those that were let run in the background may have stopped since.
            session.ranks.wait(Duration::ZERO);
            let is_running = |at: &usize| session.ranks.members[*at].state.is_at_work();
            let (running, able): (Vec<usize>, Vec<usize>) = of.iter().partition(|at| is_running(at));
            if !running.is_empty() {
                eprintln!("tasuki: rank {} runs; Ctrl-C stops it", session.names(&running));
            }
            if of.is_empty() {
                eprintln!("tasuki: no debugger has such a rank; `ranks` lists them");
            }
            session.perform(&able, &command, None, |session, answers| show(session, &command, &answers));
        }
    }
}

fn states(session: &Session) {
    let mut rows = table(["rank", "host", "process", "program", "state"]);
    for member in &session.ranks.members {
        let state = match &member.state {
            State::Busy => "its debugger is at work",
            State::Stopped => "stands still",
            State::Running => "runs",
            State::Gone(why) => why,
        };
        let process = &member.debuggee;
        let rank = process.rank.map_or("-".into(), |rank| rank.to_string());
        rows.add_row([&rank, &member.host_name, &process.pid.to_string(), &process.program, state]);
    }
    println!("{}", rows.text(width()));
}
