//! The display, until the user leaves.

use crate::{app::App, draw::draw, view::View};
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event, KeyEventKind},
};
use signal_hook::{consts::TERM_SIGNALS, flag};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use tasuki_fleet::Fleet;
use tasuki_load::Watcher;

/// Keys are waited for no longer than this, so that what hosts say is drawn soon.
const LOOK: Duration = Duration::from_millis(50);

/// How the display begins.
pub struct Options {
    /// The table that is shown first.
    pub view: View,
    /// Time between two looks at hosts.
    pub interval: Duration,
}

/// Shows what hosts of a fleet do until the user leaves, or a signal ends the process.
///
/// # Errors
/// If the terminal cannot be drawn on.
pub fn run(fleet: Fleet, options: &Options) -> io::Result<()> {
    let ended = Arc::new(AtomicBool::new(false));
    for signal in TERM_SIGNALS {
        flag::register(*signal, Arc::clone(&ended))?;
    }
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, fleet, options, &ended);
    let restored = ratatui::try_restore();
    shown.and(restored)
}

fn show(
    terminal: &mut DefaultTerminal,
    fleet: Fleet,
    options: &Options,
    ended: &AtomicBool,
) -> io::Result<()> {
    let mut app = App::new(options.view, options.interval);
    let mut watcher = Watcher::start(fleet, app.interval);
    let mut drawn: Option<Instant> = None;
    while !app.leave && !ended.load(Ordering::Relaxed) {
        let mut is_due = drawn.is_none_or(|drawn| drawn.elapsed() >= app.interval);
        if is_due {
            app.show(watcher.load());
        }
        if event::poll(if is_due { Duration::ZERO } else { LOOK })? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    app.key(key);
                    watcher.set_interval(app.interval);
                    is_due = true;
                }
                Event::Resize(..) => is_due = true,
                _ => {}
            }
        }
        if is_due {
            terminal.draw(|frame| draw(frame, &app))?;
            drawn = Some(Instant::now());
        }
    }
    Ok(())
}
