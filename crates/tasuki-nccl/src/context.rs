//! What a call of `init` makes: one for each communicator from version 11 of the interface on; before that
//! one for each thread of NCCL that connects.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use tasuki_engine::Options;

use crate::error::{Code, Error};
use crate::log::Log;
use crate::net::Net;

/// NCCL's context: the way to an endpoint. There is one endpoint while there are connections or listeners,
/// and from `init` on, so that what keeps it from opening is known before NCCL settles on this network.
pub(crate) struct Context {
    pub log: Log,
    net: Mutex<Option<Arc<Net>>>,
    /// Other communicators may use it, too.
    is_shared: bool,
}

impl Context {
    /// That of one communicator.
    pub fn open(log: Log) -> Result<Context, Error> {
        Context::open_as(log, false)
    }

    fn open_as(log: Log, is_shared: bool) -> Result<Context, Error> {
        let context = Context { log, net: Mutex::new(None), is_shared };
        context.net()?;
        Ok(context)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Net>>> {
        self.net.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoint; a new one if there is none, or if an aborted communicator has given it up.
    pub fn net(&self) -> Result<Arc<Net>, Error> {
        let mut net = self.lock();
        if let Some(net) = net.as_ref().filter(|net| !net.is_given_up()) {
            return Ok(Arc::clone(net));
        }
        let options = Options::from_env().map_err(|error| Error::new(Code::Usage, error))?;
        let opened = Arc::new(Net::open(&options, self.log, self.is_shared)?);
        *net = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// Closes the endpoint if no connection and no listener is left. The next one opens another.
    pub fn close_if_idle(&self) {
        let idle = {
            let mut net = self.lock();
            // References are made only under this lock.
            if net.as_ref().is_some_and(|net| Arc::strong_count(net) == 1) { net.take() } else { None }
        };
        // Closing waits for acknowledgements, which nobody else should wait for.
        drop(idle);
    }
}

/// The contexts of the process, for versions of the interface whose calls name none.
static OF_PROCESS: Mutex<Option<Contexts>> = Mutex::new(None);

/// Contexts by the threads that listen and connect. In NCCL each communicator has a thread for that, which
/// those alone share that share all their resources: so an aborted communicator ends no connections but its
/// own.
struct Contexts {
    log: Log,
    /// The context that `init` has made, until the first thread takes it.
    first: Option<Arc<Context>>,
    by_thread: HashMap<ThreadId, Arc<Context>>,
}

impl Contexts {
    fn open(log: Log) -> Result<Contexts, Error> {
        let first = Some(Arc::new(Context::open_as(log, true)?));
        Ok(Contexts { log, first, by_thread: HashMap::new() })
    }

    /// The context of a thread; its endpoint opens when it is needed.
    fn of(&mut self, thread: ThreadId) -> Arc<Context> {
        if let Some(context) = self.by_thread.get(&thread) {
            return Arc::clone(context);
        }
        // Threads that have ended, or have no connection left, need none.
        self.by_thread.retain(|_, context| Arc::strong_count(context) > 1 || context.lock().is_some());
        let new = || Arc::new(Context { log: self.log, net: Mutex::new(None), is_shared: true });
        let context = self.first.take().unwrap_or_else(new);
        self.by_thread.insert(thread, Arc::clone(&context));
        context
    }
}

/// Makes the contexts of the process, unless they are there.
pub(crate) fn open_for_process(log: Log) -> Result<(), Error> {
    let mut contexts = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    if contexts.is_none() {
        *contexts = Some(Contexts::open(log)?);
    }
    Ok(())
}

/// The context of the calling thread.
pub(crate) fn of_process() -> Result<Arc<Context>, Error> {
    let mut contexts = OF_PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let contexts = contexts.as_mut().ok_or_else(|| Error::new(Code::Internal, "init was not called"))?;
    Ok(contexts.of(thread::current().id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_endpoints_of_their_own_and_the_first_has_that_of_init() {
        let mut contexts = Contexts::open(Log(None)).expect("an endpoint");
        let opened = contexts.first.as_ref().expect("a context").net().expect("an endpoint");
        let other = thread::spawn(|| thread::current().id()).join().expect("a thread");
        let own = thread::current().id();
        let (first, second) = (contexts.of(own), contexts.of(other));
        let net = |context: &Context| context.net().expect("an endpoint");
        assert!(Arc::ptr_eq(&net(&first), &opened), "what NCCL has waited for in init is used");
        assert!(!Arc::ptr_eq(&net(&second), &opened));
        assert!(Arc::ptr_eq(&contexts.of(own), &first) && Arc::ptr_eq(&contexts.of(other), &second));

        // What is not used any more is not kept.
        second.close_if_idle();
        drop(second);
        let third = thread::spawn(|| thread::current().id()).join().expect("a thread");
        contexts.of(third);
        assert!(!contexts.by_thread.contains_key(&other) && contexts.by_thread.contains_key(&own));
    }
}
