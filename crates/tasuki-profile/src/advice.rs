//! What would help, in words.

use serde::Serialize;

use crate::arrays::{Array, Pages};
use crate::names::Kind;
use crate::profile::Region;
use crate::sharing::Sharing;
use crate::words::PAGE;

/// Times below this share of a region's time are not worth a word.
const LEAST_SHARE: f64 = 0.02;
/// Processes compute unequally if the slowest one takes so much longer than all on average.
const UNEQUAL: f64 = 1.5;
/// The most that is said.
const MOST: usize = 8;

/// Something that would help.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The array or the region that it is about.
    pub about: String,
    /// What is wrong, and what to do.
    pub text: String,
    /// The threads' time that it is about, s: the most that it can gain, all threads together.
    pub seconds: f64,
}

/// What iterations are handed out by.
const OF_SCHEDULE: &str = "hosts take turns at the page by which iterations are handed out: \
    schedule(static), or larger chunks, as schedule(dynamic, 1000)";
/// What memory is handed out by.
const OF_HEAP: &str = "hosts take turns at the page by which memory is handed out: allocate before the \
    region, or fewer and larger blocks";
/// Pages of a thread's stack.
const OF_STACK: &str = "what a region takes over from the function around it lies there, beside what that \
    function writes: fewer and longer regions; variables that threads write are better private, or sums of \
    a reduction";
/// See [`Sharing::SameWords`].
const SAME_WORDS: &str = "hosts write the same words in turn: a reduction, or a copy for each thread that \
    is added up at the end";
/// See [`Sharing::Exchanged`].
const EXCHANGED: &str = "one host writes what others read: this is what the program exchanges. It weighs \
    less if each thread computes more between two exchanges: larger parts, or a larger problem";
/// Pages that come once, to the thread that runs outside of parallel regions.
const USED_ALONE: &str = "one thread uses it outside of parallel regions, and its pages move once for that: \
    a parallel loop, with a reduction for what is summed up";
/// Pages that come once, from the thread that runs outside of parallel regions.
const FILLED_ALONE: &str = "it is filled by one thread, and every page moves once then: fill it in a \
    parallel loop with the schedule of those that use it";
/// See [`Sharing::Once`].
const ONCE: &str = "each page comes once to each host that uses it, as it must if all read it; threads that \
    keep to their own parts in all loops, schedule(static), need fewer";

/// What would help, the most first.
pub(crate) fn advice(arrays: &[Array], regions: &[Region], processes: usize) -> Vec<Advice> {
    let time: f64 = regions.iter().map(|region| region.seconds).sum::<f64>() * processes as f64;
    let mut all: Vec<Advice> =
        arrays.iter().flat_map(of_array).chain(regions.iter().filter_map(of_region)).collect();
    all.retain(|advice| advice.seconds > time * LEAST_SHARE);
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    all.truncate(MOST);
    all
}

fn of_array(array: &Array) -> Vec<Advice> {
    let told = |(text, seconds): (String, f64)| Advice { about: array.name.clone(), text, seconds };
    let whole = match array.kind {
        Kind::Schedule => Some(OF_SCHEDULE),
        Kind::Heap => Some(OF_HEAP),
        _ => None,
    };
    match whole {
        Some(text) => vec![told((text.to_owned(), array.seconds))],
        None => array.pages.iter().map(|pages| told(of_pages(array, pages))).collect(),
    }
}

/// What to do about pages of an array, and the time that it is about.
fn of_pages(array: &Array, pages: &Pages) -> (String, f64) {
    let most_of = |part: f64| part > pages.seconds / 2.0;
    let (text, seconds) = match pages.why {
        Sharing::FalseSharing | Sharing::SameWords | Sharing::Exchanged if array.kind == Kind::Stack => {
            (OF_STACK, pages.seconds)
        }
        Sharing::FalseSharing => return (false_sharing(array, pages.pages), pages.seconds),
        Sharing::SameWords => (SAME_WORDS, pages.seconds),
        Sharing::Exchanged => (EXCHANGED, pages.seconds),
        Sharing::Once if most_of(pages.used_alone) => (USED_ALONE, pages.used_alone),
        Sharing::Once if most_of(pages.filled_alone) => (FILLED_ALONE, pages.filled_alone),
        Sharing::Once => (ONCE, pages.seconds),
    };
    (text.to_owned(), seconds)
}

/// What to do about false sharing depends on how much of an array it is.
fn false_sharing(array: &Array, pages: u64) -> String {
    let all = array.bytes.div_ceil(PAGE as u64).max(1);
    let what = match array.kind {
        Kind::Small => "blocks of less than a page",
        _ => "different parts",
    };
    let remedy = match array.kind {
        Kind::Small => "allocate what a thread uses in blocks of 4096 bytes or more",
        _ if all <= 2 => {
            "put what each thread writes 4096 bytes apart, make it private, or sum it up by a reduction"
        }
        _ if pages * 4 >= all => {
            "give each thread one part that stays its own: schedule(static) without a chunk, over the \
             array's slowest index"
        }
        _ => {
            "begin each thread's part with a page: rows padded to a multiple of 4096 bytes, or chunks of so \
             many"
        }
    };
    let which = if pages == 1 { "the same page".to_owned() } else { format!("the same {pages} pages") };
    format!("hosts use {what} of {which}: {remedy}")
}

fn of_region(region: &Region) -> Option<Advice> {
    let place = region.place.as_ref()?;
    let mean = region.computing.iter().sum::<f64>() / region.computing.len() as f64;
    let most = region.computing.iter().copied().fold(0.0, f64::max);
    if most < mean * UNEQUAL || most == 0.0 {
        return None;
    }
    let slowest = region.computing.iter().position(|&seconds| seconds == most)?;
    let text = format!(
        "rank {slowest} computes {:.1} times as long as all on average, and the others wait at the end: \
         shares of equal work, or schedule(dynamic) with large chunks",
        most / mean
    );
    let seconds = (most - mean) * region.computing.len() as f64;
    Some(Advice { about: format!("the region at {place}"), text, seconds })
}
