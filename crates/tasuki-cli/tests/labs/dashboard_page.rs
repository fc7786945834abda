//! The page of `tasuki dashboard` in a real browser.

use super::dashboard::{Served, load, token_file};
use crate::support::{
    TestLab,
    browser::{Browser, program},
    eventually, skip_without_root, skipped,
};
use std::fs;

/// A browser, or a note that there is none.
fn browser(test: &str) -> Option<Browser> {
    if skip_without_root(test) {
        return None;
    }
    let found = program();
    if found.is_none() {
        skipped(test, "no Chromium: scripts/setup --browser");
    }
    Some(Browser::start(&found?))
}

fn wait(browser: &mut Browser, what: &str, expression: &str) {
    eventually(what, || browser.holds(expression));
}

/// Load of a cable, as the page has it; 0 while there is no such cable.
const LOAD: &str = "(name => Number(document.querySelector(`[data-cable=\"${name}\"]`).dataset.load))";
/// Width of the wider half of a cable.
const WIDTH: &str = "(name => Math.max(...[...document.querySelectorAll(`[data-cable=\"${name}\"] .half`)]\
                     .map(half => Number(half.getAttribute('stroke-width')))))";
const IS_LIVE: &str = "document.querySelector('#state.live')";

/// Nothing went wrong in the page, and it asked nobody but its own server.
fn judge_events(browser: &Browser, address: &str) {
    for event in &browser.events {
        let (method, parameters) = (event["method"].as_str().unwrap_or_default(), &event["params"]);
        match method {
            "Runtime.exceptionThrown" => panic!("{event:#}"),
            "Log.entryAdded" => {
                let says = parameters["entry"]["text"].as_str().unwrap_or_default();
                assert!(!says.contains("Content Security Policy"), "{event:#}");
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                let is_own = url.starts_with(&format!("http://{address}/"));
                assert!(is_own || url.starts_with("data:") || url == "about:blank", "{url}");
                assert!(!url.contains("0123456789abcdef0123"), "the token is in no address: {url}");
            }
            _ => {}
        }
    }
}

#[test]
#[ignore = "needs Chromium, 306 MB: make test-full"]
fn a_cable_under_load_shows_more_than_an_idle_one_and_old_figures_are_said_to_be_old() {
    let test = "a_cable_under_load_shows_more_than_an_idle_one_and_old_figures_are_said_to_be_old";
    let Some(mut browser) = browser(test) else { return };
    let lab = TestLab::up("page", &["--shape", "full:4", "--rate", "100M"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = token_file(folder.path());
    let served = Served::of(&lab, &["--listen", "127.0.0.1:0", "--token-file", &file]);
    let address = served.address.clone();
    browser.look_like(1280, 900, "light");
    browser.open(&format!("http://{address}/"));
    wait(&mut browser, "the page to ask for a token", "!document.querySelector('#login').hidden");
    assert!(!browser.holds("document.body.innerText.includes('page-')"), "it shows nothing without it");
    browser.picture("login.png");

    browser.open(&format!("http://{address}/#0123456789abcdef0123"));
    wait(&mut browser, "live figures", IS_LIVE);
    assert!(
        browser.holds("location.hash === '' && !document.body.outerHTML.includes('0123456789abcdef0123')")
    );
    let _load = load(&lab);
    wait(&mut browser, "half a line of load", &format!("{LOAD}('n1:eth1 - n2:eth1') > 0.4"));
    assert!(browser.holds(&format!("{LOAD}('n3:eth3 - n4:eth3') < 0.1")));
    let wider = format!("{WIDTH}('n1:eth1 - n2:eth1') > 2 * {WIDTH}('n3:eth3 - n4:eth3')");
    assert!(browser.holds(&wider), "it is drawn wider");
    lab.fault("cut", &["n2-n3"]);
    let dead = "document.querySelector('[data-cable=\"n2:eth2 - n3:eth2\"]').dataset.state === 'dead'";
    wait(&mut browser, "the cut cable to be dead", dead);
    let listed = "document.querySelector('#problem-list').textContent.includes('n2:eth2 - n3:eth2')";
    wait(&mut browser, "the cut cable to be a problem", listed);

    // From the keyboard: to the next part of the picture, which is chosen, and so is its timeline.
    browser.eval("document.querySelector('[data-part=n1]').focus()");
    browser.press("ArrowRight");
    browser.press("Enter");
    wait(&mut browser, "the timeline of n2", "document.querySelector('#subject').value === 'n2'");
    wait(&mut browser, "its lines", "document.querySelector('#charts .s0').getAttribute('d').includes('L')");
    for (scheme, name) in [("light", "four-light.png"), ("dark", "four-dark.png")] {
        browser.look_like(1280, 900, scheme);
        browser.picture(name);
    }
    browser.look_like(390, 844, "dark");
    assert!(browser.holds("document.documentElement.scrollWidth <= 390"), "it fits on a phone");
    browser.picture("phone-dark.png");

    drop(served);
    wait(&mut browser, "figures to be old", "document.querySelector('#state.old')");
    assert!(browser.holds("document.body.classList.contains('stale')"));
    browser.picture("old.png");
    let again = Served::of(&lab, &["--listen", &address, "--token-file", &file]);
    wait(&mut browser, "live figures again", IS_LIVE);
    fs::write(&file, "another-token-than-before").expect("writes");
    drop(again);
    let _other = Served::of(&lab, &["--listen", &address, "--token-file", &file]);
    wait(&mut browser, "the page to ask for the new token", "!document.querySelector('#login').hidden");
    judge_events(&browser, &address);
}

#[test]
#[ignore = "needs Chromium, 306 MB: make test-full"]
fn the_page_shows_64_hosts_and_all_their_cables() {
    let test = "the_page_shows_64_hosts_and_all_their_cables";
    let Some(mut browser) = browser(test) else { return };
    let lab = TestLab::up("page64", &["--shape", "torus:8x8", "--rate", "100M"]);
    let served = Served::of(&lab, &["--listen", "127.0.0.1:0"]);
    browser.look_like(1280, 900, "light");
    browser.open(&served.url);
    wait(&mut browser, "all hosts", "document.querySelectorAll('tbody tr').length === 64");
    let cables = "document.querySelectorAll('.cable[data-state=up]').length";
    wait(&mut browser, "all cables", &format!("{cables} === 128"));
    let _load = load(&lab);
    wait(&mut browser, "load", "[...document.querySelectorAll('.cable')].some(c => c.dataset.load > 0.4)");
    browser.picture("many-light.png");
    browser.look_like(1280, 900, "dark");
    browser.picture("many-dark.png");
    // What the page costs its reader: a figure for people, on which nothing depends.
    let mut busy = || {
        let all = browser.call("Performance.getMetrics", serde_json::json!({}))["metrics"].clone();
        let of = |name: &str| all.as_array()?.iter().find(|one| one["name"] == name)?["value"].as_f64();
        (of("Timestamp").unwrap_or(0.0), of("TaskDuration").unwrap_or(0.0))
    };
    let before = busy();
    std::thread::sleep(std::time::Duration::from_secs(10));
    let after = busy();
    let share = 100.0 * (after.1 - before.1) / (after.0 - before.0);
    println!("64 hosts keep the page's thread busy for {share:.1} % of the time");
    judge_events(&browser, &served.address);
}
