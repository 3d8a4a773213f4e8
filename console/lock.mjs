// Writes package-lock.json anew, without the addresses that packages came from: those are whoever installs'.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

execFileSync('npm', ['install', '--package-lock-only', '--omit-lockfile-registry-resolved=false'], { stdio: 'inherit' });
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
for (const each of Object.values(lock.packages)) delete each.resolved;
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
