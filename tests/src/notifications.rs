//! A notification service for a test's desktop: keeps what it is told, and can be clicked. Beside it an ear for the count that
//! docks draw on an icon.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt;
use zbus::object_server::SignalEmitter;
use zbus::zvariant::OwnedValue;

const PATH: &str = "/org/freedesktop/Notifications";

/// What a person would see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub id: u32,
    pub summary: String,
    pub body: String,
    /// A click on it does something.
    pub clickable: bool,
}

#[derive(Default)]
struct Seen {
    ids: u32,
    standing: Vec<Notification>,
    count: Option<i64>,
}

pub struct Notifications {
    connection: zbus::Connection,
    seen: Arc<Mutex<Seen>>,
}

struct Service(Arc<Mutex<Seen>>);

fn locked(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Service {
    #[expect(clippy::too_many_arguments, reason = "the specification's")]
    fn notify(
        &self,
        _app_name: String,
        replaces_id: u32,
        _app_icon: String,
        summary: String,
        body: String,
        actions: Vec<String>,
        _hints: HashMap<String, OwnedValue>,
        _expire_timeout: i32,
    ) -> u32 {
        let mut seen = locked(&self.0);
        let id = if seen.standing.iter().any(|n| n.id == replaces_id) {
            replaces_id
        } else {
            seen.ids += 1;
            seen.ids
        };
        seen.standing.retain(|n| n.id != id);
        seen.standing.push(Notification { id, summary, body, clickable: actions.first().is_some_and(|key| key == "default") });
        id
    }
    async fn close_notification(&self, id: u32, #[zbus(signal_emitter)] emitter: SignalEmitter<'_>) -> zbus::fdo::Result<()> {
        locked(&self.0).standing.retain(|n| n.id != id);
        Ok(emitter.notification_closed(id, 3).await?)
    }
    fn get_capabilities(&self) -> Vec<String> {
        vec!["body".into(), "actions".into()]
    }
    fn get_server_information(&self) -> (String, String, String, String) {
        ("a test's".into(), "Mework".into(), "1".into(), "1.2".into())
    }
    #[zbus(signal)]
    async fn action_invoked(emitter: &SignalEmitter<'_>, id: u32, action_key: &str) -> zbus::Result<()>;
    #[zbus(signal)]
    async fn notification_closed(emitter: &SignalEmitter<'_>, id: u32, reason: u32) -> zbus::Result<()>;
}

impl Notifications {
    /// Serves the session bus at this address.
    pub async fn on(bus: &str) -> zbus::Result<Self> {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let connection = zbus::connection::Builder::address(bus)?
            .serve_at(PATH, Service(seen.clone()))?
            .name("org.freedesktop.Notifications")?
            .build()
            .await?;
        let rule = zbus::MatchRule::builder()
            .msg_type(zbus::message::Type::Signal)
            .interface("com.canonical.Unity.LauncherEntry")?
            .member("Update")?
            .build();
        let mut counts = zbus::MessageStream::for_match_rule(rule, &connection, None).await?;
        let counted = seen.clone();
        tokio::spawn(async move {
            while let Some(Ok(message)) = counts.next().await {
                let body = message.body();
                let Ok((app, properties)) = body.deserialize::<(String, HashMap<String, OwnedValue>)>() else { continue };
                let of = |name: &str| properties.get(name).and_then(|value| value.try_clone().ok());
                let shown = of("count-visible").and_then(|value| bool::try_from(value).ok()) == Some(true);
                let count = of("count").and_then(|value| i64::try_from(value).ok());
                if app == "application://Mework.desktop" {
                    locked(&counted).count = count.filter(|_| shown);
                }
            }
        });
        Ok(Self { connection, seen })
    }

    /// Those a person could click now.
    pub fn standing(&self) -> Vec<Notification> {
        locked(&self.seen).standing.clone()
    }

    /// How many there have been; one that replaces another counts as the same.
    pub fn ever(&self) -> u32 {
        locked(&self.seen).ids
    }

    /// The number on the icon.
    pub fn count(&self) -> Option<i64> {
        locked(&self.seen).count
    }

    /// Clicks it; like most services, this one then puts it away.
    pub async fn click(&self, id: u32) -> zbus::Result<()> {
        locked(&self.seen).standing.retain(|n| n.id != id);
        let service = self.connection.object_server().interface::<_, Service>(PATH).await?;
        let emitter = service.signal_emitter();
        Service::action_invoked(emitter, id, "default").await?;
        Service::notification_closed(emitter, id, 2).await
    }
}
