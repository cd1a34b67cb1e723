//! Telling a desktop of freedesktop.org's kind: its notification service, and the count that docks draw on an icon, both over
//! the session's D-Bus. Tauri's own count needs a library that few systems have, and a notification that can be clicked and
//! withdrawn is a conversation: the answers are listened for before the question is put.

use std::collections::HashMap;

use futures_util::StreamExt;
use tauri::WebviewWindow;
use zbus::Connection;
use zbus::zvariant::Value;

use super::{Note, Response};

/// The icon's name in the menus of desktops, as Tauri's bundles install it.
const DESKTOP_FILE: &str = "Mework";

#[zbus::proxy(
    interface = "org.freedesktop.Notifications",
    default_service = "org.freedesktop.Notifications",
    default_path = "/org/freedesktop/Notifications",
    gen_blocking = false
)]
trait Notifications {
    #[expect(clippy::too_many_arguments, reason = "the specification's")]
    fn notify(
        &self,
        app_name: &str,
        replaces_id: u32,
        app_icon: &str,
        summary: &str,
        body: &str,
        actions: &[&str],
        hints: HashMap<&str, Value<'_>>,
        expire_timeout: i32,
    ) -> zbus::Result<u32>;
    fn close_notification(&self, id: u32) -> zbus::Result<()>;
    #[zbus(signal)]
    fn action_invoked(&self, id: u32, action_key: &str) -> zbus::Result<()>;
    #[zbus(signal)]
    fn notification_closed(&self, id: u32, reason: u32) -> zbus::Result<()>;
}

#[derive(Default)]
pub struct Desktop {
    session: Option<Session>,
    /// Nothing answered there once; it is not asked again and again.
    given_up: bool,
}

struct Session {
    connection: Connection,
    service: NotificationsProxy<'static>,
    /// In one stream, in the order they were sent: most services close a notification with the click, and what is told of
    /// the two must not come in the other order.
    signals: zbus::proxy::SignalStream<'static>,
    /// The notification that stands.
    id: Option<u32>,
}

impl Desktop {
    pub fn new() -> Self {
        Self::default()
    }

    async fn session(&mut self) -> Option<&mut Session> {
        if self.session.is_none() && !self.given_up {
            match Session::open().await {
                Ok(session) => self.session = Some(session),
                Err(problem) => {
                    tracing::warn!(%problem, "the desktop cannot be told of waiting calls");
                    self.given_up = true;
                }
            }
        }
        self.session.as_mut()
    }

    /// Shows it, in place of the one that stands.
    pub async fn show(&mut self, note: &Note, _app: &str) {
        let Some(session) = self.session().await else { return };
        let hints = HashMap::from([("desktop-entry", Value::from(DESKTOP_FILE)), ("urgency", Value::from(1u8))]);
        // The key of a click on the notification itself, and what a button for it would say.
        let actions = ["default", crate::words::notification::SHOW];
        // A summary is plain text to every service; only what is ours stands where some read markup.
        let shown = session
            .service
            .notify("Mework", session.id.unwrap_or(0), "mework-desktop", &note.title, note.text, &actions, hints, -1)
            .await;
        match shown {
            Ok(id) => session.id = Some(id),
            Err(problem) => tracing::warn!(%problem, "the desktop did not take a notification"),
        }
    }

    pub async fn withdraw(&mut self) {
        let Some(session) = &mut self.session else { return };
        if let Some(id) = session.id.take() {
            // It may be gone already.
            let _ = session.service.close_notification(id).await;
        }
    }

    /// The next thing a person does with the notification that stands.
    pub async fn response(&mut self) -> Response {
        let Some(session) = &mut self.session else { return std::future::pending().await };
        while let Some(signal) = session.signals.next().await {
            if let Some(click) = ActionInvoked::from_message(signal.clone()) {
                if click.args().is_ok_and(|click| Some(click.id) == session.id) {
                    return Response::Clicked;
                }
            } else if let Some(closing) = NotificationClosed::from_message(signal)
                && closing.args().is_ok_and(|closing| Some(closing.id) == session.id)
            {
                session.id = None;
                return Response::Gone;
            }
        }
        std::future::pending().await
    }

    /// The signal that Ubuntu's dock, KDE's task bar, Plank and others draw a number from.
    pub async fn count(&mut self, _window: Option<&WebviewWindow>, waiting: usize) {
        let Some(session) = self.session().await else { return };
        let count = i64::try_from(waiting).unwrap_or(i64::MAX);
        let properties = HashMap::from([("count", Value::from(count)), ("count-visible", Value::from(waiting > 0))]);
        let told = session
            .connection
            .emit_signal(
                None::<&str>,
                "/app/mework/desktop",
                "com.canonical.Unity.LauncherEntry",
                "Update",
                &(format!("application://{DESKTOP_FILE}.desktop"), properties),
            )
            .await;
        if let Err(problem) = told {
            tracing::warn!(%problem, "the count on the icon could not be told");
        }
    }
}

impl Session {
    async fn open() -> zbus::Result<Self> {
        let connection = Connection::session().await?;
        let service = NotificationsProxy::new(&connection).await?;
        let signals = service.inner().receive_all_signals().await?;
        Ok(Self { connection, service, signals, id: None })
    }
}
