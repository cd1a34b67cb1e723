import { mount } from "svelte";
import "./app.css";
import App from "./App.svelte";
import { chooseHost } from "./host/choose";

const target = document.getElementById("app");
if (target) mount(App, { target, props: { host: chooseHost() } });
