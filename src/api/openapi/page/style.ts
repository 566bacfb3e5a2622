/** Inline style sheet of the API explorer. */
export const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 60rem; padding: 1rem }
h1 small { color: gray; font-size: 0.5em; font-weight: normal }
h2 { margin: 2rem 0 0.5rem; text-transform: capitalize }
h3, h4 { margin: 1rem 0 0 }
nav a { margin-right: 0.75rem }
p { margin: 0.25rem 0 }
i { color: gray; font-style: normal }
code, pre, textarea, input { font: 0.875rem/1.4 ui-monospace, monospace }
pre { background: #8881; border-radius: 4px; margin: 0.25rem 0; overflow-wrap: anywhere; padding: 0.5rem; white-space: pre-wrap }
details { border: 1px solid #8884; border-radius: 4px; margin: 0.5rem 0; padding: 0.25rem 0.75rem }
details[open] { padding-bottom: 0.75rem }
summary { cursor: pointer }
summary b { display: inline-block; min-width: 4rem }
.get { color: #2a7de1 } .post { color: #2f9e44 } .put { color: #e8890c } .delete { color: #e03131 }
form { margin: 0.75rem 0 }
label { display: block; margin: 0.5rem 0 }
input, textarea { box-sizing: border-box; display: block; padding: 0.4rem; width: 100% }
button { font: inherit; padding: 0.2rem 1rem }
output { margin-left: 0.75rem }
.response { max-height: 24rem; overflow: auto }
`
