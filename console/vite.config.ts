import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const BUILT = '.build/built';

/** Packs every asset once, so that nobody packs it for each request. */
function packed(): Plugin {
  return {
    name: 'packed',
    apply: 'build',
    closeBundle() {
      const folder = join(import.meta.dirname, BUILT, 'assets');
      for (const name of readdirSync(folder)) {
        const body = readFileSync(join(folder, name));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(body, { level: 9 }));
        writeFileSync(
          join(folder, `${name}.br`),
          brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }),
        );
      }
    },
  };
}

export default defineConfig({
  base: '/console/',
  plugins: [react(), packed()],
  build: {
    outDir: BUILT,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // Whatever is not the console itself is the server's.
  server: { proxy: { '^/(?!console/)': 'http://127.0.0.1:8080' } },
  test: { environment: 'node', include: ['tests/**/*.test.ts'] },
});
