import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { setNonce } from 'get-nonce';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Router } from 'wouter';
import { Refusal } from './api/client';
import { nonce } from './api/settings';
import { App } from './app/App';
import { useLocationThatAsks } from './app/leaving';
import { applyTheme } from './app/theme';
import './ui/tokens.css';
import './ui/base.css';
import './ui/parts.css';
import './app/shell.css';

setNonce(nonce);
applyTheme();

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      // What was refused stays refused; who was not there may be back.
      retry: (count, error) => !(error instanceof Refusal && error.status < 500) && count < 3,
    },
  },
});

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Router base="/console" hook={useLocationThatAsks}>
          <App />
        </Router>
      </QueryClientProvider>
    </StrictMode>,
  );
}
