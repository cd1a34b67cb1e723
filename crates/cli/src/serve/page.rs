//! The page itself: the built frontend, from inside the program (cargo feature `ui`) or from a folder (`--ui`, for
//! those who work on it).

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::App;

pub enum Page {
    #[cfg(feature = "ui")]
    BuiltIn,
    Folder(PathBuf),
}

#[cfg(feature = "ui")]
#[derive(rust_embed::Embed)]
#[folder = "../../ui/dist"]
struct BuiltIn;

impl Page {
    pub fn find(folder: Option<&Path>) -> Result<Self, String> {
        if let Some(folder) = folder {
            // As the person wrote it in words, as the system resolves it to compare what is asked for.
            let given = folder.display();
            let folder = folder.canonicalize().map_err(|e| format!("The page's folder {given} cannot be used: {e}."))?;
            if !folder.is_dir() {
                return Err(format!("{given} is no folder. --ui takes the folder that holds index.html."));
            }
            return Ok(Self::Folder(folder));
        }
        #[cfg(feature = "ui")]
        return Ok(Self::BuiltIn);
        #[cfg(not(feature = "ui"))]
        return Err("This `mework` was built without its page. Build the page with `make ui` and then the program with \
             `cargo build -p mework --features ui`, or do both with `make build`."
            .into());
    }

    /// The file of a URL path, if the page has it.
    fn read(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        let path = Path::new(path);
        // Nothing but plain names: no `..`, no drive, no root.
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return None;
        }
        match self {
            #[cfg(feature = "ui")]
            Self::BuiltIn => BuiltIn::get(path.to_str()?).map(|file| file.data),
            Self::Folder(folder) => {
                let file = folder.join(path).canonicalize().ok().filter(|file| file.starts_with(folder) && file.is_file())?;
                std::fs::read(file).ok().map(Cow::Owned)
            }
        }
    }
}

/// Any request that is neither `/rpc` nor `/events`.
pub(super) async fn answer(State(app): State<App>, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return (StatusCode::METHOD_NOT_ALLOWED, "There is only GET here.\n").into_response();
    }
    let path = match request.uri().path().trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    match app.page.read(path) {
        Some(bytes) => ([(header::CONTENT_TYPE, kind(path))], bytes.into_owned()).into_response(),
        None => (StatusCode::NOT_FOUND, "There is no such page.\n").into_response(),
    }
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "map" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}
