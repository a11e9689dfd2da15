//! Runs the controller while this program leads: what the host calls.

use common::api::client::Api;
use tokio::sync::mpsc;

use crate::{controller::Controller, election::Election, pulse::Pulse, watched::watch};

/// Reports that wait to be taken in: a watch that has more to tell waits.
const REPORTS: usize = 256;

/// What to run.
pub struct NetServices {
    /// The API.
    pub api: Api,
    /// Where NetServices are; none for all namespaces.
    pub namespace: Option<String>,
    /// Where the Lease is.
    pub lease_namespace: String,
    /// Where it shows how it is.
    pub pulse: Pulse,
}

impl NetServices {
    /// Runs until `stop`; then the Lease is given back.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { api, namespace, lease_namespace, pulse } = self;
        let election = Election::new(api.clone(), lease_namespace);
        tokio::pin!(stop);
        loop {
            let mut leadership = tokio::select! {
                biased;
                () = &mut stop => return,
                leadership = election.won() => leadership,
            };
            pulse.leads();
            let (reported, reports) = mpsc::channel(REPORTS);
            // What is under way ends with these two.
            let watches = watch(&api, namespace.as_deref(), &pulse, &reported);
            let controller = Controller::new(api.clone(), pulse.clone()).run(reports);
            let is_over = tokio::select! {
                biased;
                () = &mut stop => true,
                () = election.lost(&mut leadership) => false,
                () = controller => false,
            };
            drop(watches);
            pulse.stands_by();
            if is_over {
                election.give_back(&leadership).await;
                return;
            }
        }
    }
}
