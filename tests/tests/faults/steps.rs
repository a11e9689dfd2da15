//! The requests of a run, one after the other, by what it finds.

use cluster_tests::harness::{Namespace, Pod, Run};

use crate::wire::Ask;

/// What a run finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    /// The Service of an earlier pod of the same name.
    EarlierPods,
}

impl Found {
    /// Each request of such a run: what it asks for, and how many of that kind came before.
    pub(crate) fn steps(self) -> &'static [(Ask, usize)] {
        match self {
            Self::Nothing => &[(Ask::ReadConfigMap, 0), (Ask::LabelPod, 0), (Ask::CreateService, 0)],
            Self::EarlierPods => &[
                (Ask::ReadConfigMap, 0),
                (Ask::LabelPod, 0),
                (Ask::CreateService, 0),
                (Ask::ReadService, 0),
                (Ask::ReadPod, 0),
                (Ask::DeleteService, 0),
                (Ask::ReadService, 1),
                (Ask::CreateService, 1),
            ],
        }
    }

    /// A new pod that finds it.
    pub(crate) async fn pod<'a>(self, namespace: &'a Namespace<'a>, name: &str) -> Pod<'a> {
        if self == Self::EarlierPods {
            let earlier = namespace.pod(name).create().await;
            // Without an owner reference, so that the garbage collector leaves it to the creator.
            Run::creator(&earlier).await.args(["--owner-reference", "none"]).run().await.expect_code(0);
            earlier.delete().await;
        }
        namespace.pod(name).create().await
    }
}
