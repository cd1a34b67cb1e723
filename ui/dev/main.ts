// The window with a played engine: `npm run dev`, then /dev/?scene=NAME. Never part of the product.

import { mount } from "svelte";
import "../src/app.css";
import App from "../src/App.svelte";
import { FakeHost } from "../src/host/fake";
import { scenes } from "./scenes";

const name = new URLSearchParams(location.search).get("scene") ?? "full";
const target = document.getElementById("app");
const host = new FakeHost(scenes[name] ?? {});
Object.assign(window, { host });
if (target) mount(App, { target, props: { host } });
